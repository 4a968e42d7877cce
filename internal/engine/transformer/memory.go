package transformer

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// MemoryConfig holds the parameters of an estimate.
type MemoryConfig struct {
	Cache CacheConfig
	Batch int // maximum number of tokens in one pass
}

// Memory is an estimate, in bytes, of the memory that running a model takes.
type Memory struct {
	Weights int64
	Cache   int64
	Scratch int64
}

// Total returns the sum of the parts.
func (m Memory) Total() int64 { return m.Weights + m.Cache + m.Scratch }

// EstimateMemory estimates, from the header of f alone, the memory that a network and its cache
// will take.
func EstimateMemory(f *gguf.File, cfg MemoryConfig) (Memory, error) {
	h, err := ReadHyper(f)
	if err != nil {
		return Memory{}, err
	}
	layout, err := tensor.NewTileLayout(cfg.Cache.Type, h.HeadDim)
	if err != nil {
		return Memory{}, fmt.Errorf("transformer: estimate memory: %w", err)
	}
	var m Memory
	for _, t := range f.Tensors() {
		m.Weights += int64(len(t.Data))
	}
	m.Cache = int64(max(cfg.Cache.Pages, 0)) * int64(layout.Bytes()) * int64(h.Layers) * int64(h.KVHeads)
	m.Scratch = scratchBytes(&h, max(cfg.Batch, 1))
	return m, nil
}

// scratchBytes returns the size of the scratch memory for a pass over tokens tokens with one row of
// logits.
func scratchBytes(h *Hyper, tokens int) int64 {
	slots, width := 1, max(h.FF, h.SharedFF)
	row := 4*h.Embed + 3*h.Heads*h.HeadDim + 2*h.KVWidth() + 4*width
	if h.Experts > 0 {
		slots = h.ActiveExperts
		row += slots*4*h.ExpertFF + h.Experts
	}
	return 4 * (int64(row)*int64(tokens) + int64(h.Vocab))
}

// AvailableMemory returns the number of bytes that this process may still allocate: the memory
// available in the system or within the limit of its control group, whichever is less. It returns
// false if the system does not report it.
func AvailableMemory() (int64, bool) {
	left, ok := int64(math.MaxInt64), false
	if v, found := memAvailable("/proc/meminfo"); found {
		left, ok = v, true
	}
	for _, g := range []struct{ limit, used, stat string }{
		{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"},
		{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes", "/sys/fs/cgroup/memory/memory.stat"},
	} {
		limit, ok1 := readNumber(g.limit)
		used, ok2 := readNumber(g.used)
		if ok1 && ok2 && limit > 0 && limit < 1<<60 {
			used -= fileCache(g.stat) // the system reclaims those pages when needed
			left, ok = min(left, max(limit-used, 0)), true
		}
	}
	return left, ok
}

func memAvailable(path string) (int64, bool) {
	kb, ok := readField(path, "MemAvailable:")
	return kb << 10, ok
}

// fileCache returns the number of bytes of a control group that only cache files.
func fileCache(path string) int64 {
	n, ok := readField(path, "inactive_file")
	if !ok {
		return 0
	}
	return n
}

// readField finds the number behind a name at the start of a line.
func readField(path, name string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && fields[0] == name {
			v, err := strconv.ParseInt(fields[1], 10, 64)
			return v, err == nil
		}
	}
	return 0, false
}

func readNumber(path string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	v, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return v, err == nil
}

// checkRoom returns size·count if that much memory is available, otherwise an error.
func checkRoom(what string, size, count int64) (int, error) {
	if size > 0 && count > math.MaxInt64/size || size*count > math.MaxInt {
		return 0, fmt.Errorf("%s of %d × %d bytes is more than a machine can address", what, count, size)
	}
	need := size * count
	if left, ok := AvailableMemory(); ok && need > left {
		return 0, fmt.Errorf("%s needs %s, but only %s of memory are available", what, mib(need), mib(left))
	}
	return int(need), nil
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// checkRoom checks that there is memory for all matrices before the first one is built.
func (l *loader) checkRoom() {
	if _, err := checkRoom("the network", int64(l.n.bytes), 1); err != nil {
		l.fail("%w", err)
	}
}
