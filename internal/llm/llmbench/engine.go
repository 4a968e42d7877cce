package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/internal/gguf"
	"github.com/luthier-dev/luthier/internal/llm"
	"github.com/luthier-dev/luthier/internal/tensor"
)

// engine is a network that is loaded for one number of threads.
type engine struct {
	file   *gguf.File
	pool   *tensor.Pool
	net    *llm.Network
	cache  *llm.Cache
	loaded time.Duration
	size   int64
}

// chunk is how many tokens of a prompt go through the network in one pass, as in llama-bench.
const chunk = 512

func open(path string, threads int, o options) (*engine, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	pool := tensor.NewPool(threads)
	net, err := llm.LoadNetwork(f, pool, llm.NetworkConfig{})
	if err != nil {
		return nil, err
	}
	e := &engine{file: f, pool: pool, net: net, loaded: time.Since(begin), size: st.Size()}
	longest := 0
	for _, d := range o.depths {
		longest = max(longest, d+max(o.prompt, o.generate)+1)
	}
	kv := map[string]gguf.Type{"f16": gguf.TypeF16, "q8_0": gguf.TypeQ8_0, "f32": gguf.TypeF32}
	t, ok := kv[strings.ToLower(o.kv)]
	if !ok {
		return nil, fmt.Errorf("-kv is %q; it must be f16, q8_0 or f32", o.kv)
	}
	e.cache, err = llm.NewCache(net, llm.CacheConfig{Type: t, Pages: llm.PagesFor(longest)})
	return e, err
}

func (e *engine) close() {
	e.net.Close()
	e.pool.Close()
	e.file.Close()
}

// measure runs j once on a new sequence and returns its tokens per second, the depth not counted.
func (e *engine) measure(j job) (float64, error) {
	rng := rand.New(rand.NewPCG(1, uint64(j.depth)))
	seq, err := e.sequence(j.depth + j.prompt + j.gen)
	if err != nil {
		return 0, err
	}
	defer e.release(seq)
	if err := e.prefill(seq, j.depth, rng); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := e.prefill(seq, j.prompt, rng); err != nil {
		return 0, err
	}
	for range j.gen {
		slices := []llm.Slice{{Seq: seq, Tokens: e.random(1, rng), Outputs: 1}}
		if err := e.net.Forward(e.cache, slices); err != nil {
			return 0, err
		}
	}
	return float64(j.prompt+j.gen) / time.Since(begin).Seconds(), nil
}

func (e *engine) prefill(seq *llm.Seq, n int, rng *rand.Rand) error {
	for n > 0 {
		k := min(n, chunk)
		n -= k
		if err := e.net.Forward(e.cache, []llm.Slice{{Seq: seq, Tokens: e.random(k, rng), Outputs: 1}}); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) random(n int, rng *rand.Rand) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = rng.Int32N(int32(e.net.Hyper().Vocab))
	}
	return tokens
}

func (e *engine) sequence(tokens int) (*llm.Seq, error) {
	seq := &llm.Seq{}
	for range llm.PagesFor(tokens) {
		page, ok := e.cache.Alloc()
		if !ok {
			return nil, fmt.Errorf("no page left for %d tokens", tokens)
		}
		seq.Pages = append(seq.Pages, page)
	}
	return seq, nil
}

func (e *engine) release(seq *llm.Seq) {
	for _, p := range seq.Pages {
		e.cache.Release(p)
	}
}

// residentMiB returns the resident memory of this process, 0 where the system does not say.
func residentMiB() int {
	data, err := os.ReadFile("/proc/self/statm")
	var total, resident int
	if err == nil {
		fmt.Sscan(string(data), &total, &resident)
	}
	return resident * os.Getpagesize() >> 20
}
