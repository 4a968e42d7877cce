package transformer

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
	"github.com/luthier-dev/luthier/internal/engine/transformer/reference"
)

// mine distributes the experts in the tests: every third to shard 0, the next to shard 1; the rest
// stay in the test process.
func mine(shard int) func(layer, expert int) bool {
	return func(layer, expert int) bool { return (layer+expert)%3 == shard }
}

// TestShardProcess is not a test but the program of the worker processes.
func TestShardProcess(t *testing.T) {
	path, socket := os.Getenv("LUTHIER_SHARD_MODEL"), os.Getenv("LUTHIER_SHARD_SOCKET")
	if path == "" {
		t.Skip("only as a worker process of the other tests")
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	pool := tensor.NewPool(1)
	defer pool.Close()
	if err := ServeExperts(conn, f, pool, mine(int(os.Getenv("LUTHIER_SHARD")[0]-'0'))); err != nil {
		t.Fatal(err)
	}
}

// startShard starts a worker process and returns the connection to it.
func startShard(t *testing.T, model, shard string) (*exec.Cmd, net.Conn) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestShardProcess$")
	cmd.Env = append(os.Environ(), "LUTHIER_SHARD_MODEL="+model, "LUTHIER_SHARD_SOCKET="+socket, "LUTHIER_SHARD="+shard)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() > 0 {
			t.Errorf("worker: %v\n%s", err, out.String())
		}
	})
	return cmd, conn
}

// TestShards spreads the experts over two worker processes. The logits must be the same, bit for
// bit, as with all experts in one process, and each weight must be loaded only once. If a worker
// dies, the pass must return an error and leave the sequence unchanged.
//
// Evidence: engine · Experts can run in worker processes
func TestShards(t *testing.T) {
	for _, arch := range []string{"qwen3moe", "gpt-oss", "qwen2moe"} {
		t.Run(arch, func(t *testing.T) {
			c := synth.Tiny(arch)
			c.Quant = "q8_0"
			model := filepath.Join(t.TempDir(), "m.gguf")
			if err := synth.Create(model, c); err != nil {
				t.Fatal(err)
			}
			f, err := gguf.Open(model)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			tokens := reference.RandomTokens(rand.New(rand.NewPCG(6, 6)), 40, 700)
			want := alone(t, f, gguf.TypeF16, tokens)

			_, conn0 := startShard(t, model, "0")
			process, conn1 := startShard(t, model, "1")
			var workers []ExpertWorker
			for _, conn := range []net.Conn{conn0, conn1} {
				w, err := DialExperts(conn)
				if err != nil {
					t.Fatal(err)
				}
				workers = append(workers, w)
			}
			pool := tensor.NewPool(2)
			defer pool.Close()
			n, err := LoadNetwork(f, pool, NetworkConfig{Place: func(layer, expert int) ExpertWorker {
				for i, w := range workers {
					if mine(i)(layer, expert) {
						return w
					}
				}
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close()
			cache, err := NewCache(n, CacheConfig{Type: gguf.TypeF16, Pages: 3})
			if err != nil {
				t.Fatal(err)
			}
			defer cache.Close()
			s := seqOf(t, cache, 64)
			for _, k := range []int{1, 30, 8} {
				if err := n.Forward(cache, []Slice{{Seq: s, Tokens: tokens[s.Len : s.Len+k], Outputs: 1}}); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(n.Logits(0), want[s.Len-1]) {
					t.Fatalf("logits at %d differ from those computed in one process", s.Len-1)
				}
			}
			process.Process.Kill()
			before := s.Len
			if err := n.Forward(cache, []Slice{{Seq: s, Tokens: make([]int32, 20), Outputs: 1}}); err == nil || !strings.Contains(err.Error(), "elsewhere") {
				t.Errorf("error %v after a worker was killed", err)
			}
			if s.Len != before {
				t.Errorf("length %d after a failed pass, was %d", s.Len, before)
			}
		})
	}
}

// pipe combines two one-way streams into a connection.
type pipe struct {
	io.Reader
	io.Writer
}

// FuzzServeExperts feeds a worker arbitrary bytes: it must answer or refuse, and never panic.
func FuzzServeExperts(f *testing.F) {
	model := reference.Variant{Arch: "qwen3moe"}.Open(f, "q8_0")
	pool := tensor.NewPool(1)
	f.Cleanup(pool.Close)
	var good bytes.Buffer
	w := newWire(struct {
		io.Reader
		io.Writer
	}{nil, &good})
	w.putInts(shardMagic, 1, 1, 3, 2)
	w.putFloats(make([]float32, 512))
	w.w.Flush()
	f.Add(good.Bytes())
	f.Add(good.Bytes()[:30])
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		err := ServeExperts(pipe{bytes.NewReader(data), &out}, model, pool, func(layer, _ int) bool { return layer == 1 })
		if bytes.Equal(data, good.Bytes()) && (err != nil || out.Len() != 16+8+512*4) {
			t.Errorf("a good request gave %d bytes and %v", out.Len(), err)
		}
		_, _ = DialExperts(pipe{bytes.NewReader(data), io.Discard})
	})
}

// TestExpertRequests checks which requests a worker refuses and how it reports that.
func TestExpertRequests(t *testing.T) {
	f := reference.Variant{Arch: "qwen3moe"}.Open(t, "f32")
	pool := tensor.NewPool(1)
	defer pool.Close()
	here, there := net.Pipe()
	served := make(chan error)
	go func() {
		served <- ServeExperts(there, f, pool, func(_, expert int) bool { return expert < 4 })
	}()
	r, err := DialExperts(here)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]float32, 256)
	if err := r.Compute(0, []ExpertJob{{Expert: 2, In: row, Out: make([]float32, 256)}}); err != nil {
		t.Error(err)
	}
	if err := r.Compute(0, []ExpertJob{{Expert: 5, In: row, Out: make([]float32, 256)}}); err == nil || !strings.Contains(err.Error(), "expert 5 of layer 0 is not at this worker") {
		t.Errorf("error %v", err)
	}
	here.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	dense := reference.Variant{Arch: "qwen3"}.Open(t, "f32")
	if err := ServeExperts(pipe{bytes.NewReader(nil), io.Discard}, dense, pool, mine(0)); err == nil || !strings.Contains(err.Error(), "dense") {
		t.Errorf("error %v for a dense network", err)
	}
}
