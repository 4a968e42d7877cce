package transformer

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// FuzzLoadNetwork overwrites numbers in the header of a valid file. A file that can still be parsed
// must be loaded and computed, or refused, without a panic.
func FuzzLoadNetwork(f *testing.F) {
	pool := tensor.NewPool(1)
	f.Cleanup(pool.Close)
	var files [][]byte
	var heads []int
	for _, arch := range Architectures() {
		c := synth.Tiny(arch)
		c.Embd, c.FF, c.HeadDim, c.Heads, c.KVHeads = 64, 64, 16, 4, 4
		if c.Experts > 0 {
			c.Experts, c.ExpertFF = 4, 32
		}
		if c.SharedFF > 0 {
			c.SharedFF = 32
		}
		w, err := synth.NewWriter(c)
		if err != nil {
			f.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := w.WriteTo(&b); err != nil {
			f.Fatal(err)
		}
		file, err := gguf.Parse(b.Bytes())
		if err != nil {
			f.Fatal(err)
		}
		tensors := 0
		for _, x := range file.Tensors() {
			tensors += len(x.Data)
		}
		files, heads = append(files, b.Bytes()), append(heads, b.Len()-tensors)
		key := bytes.Index(b.Bytes(), []byte(arch+".attention.head_count")) + len(arch) + 21
		f.Add(uint8(len(files)-1), uint32(key+4), uint32(0), false)
		f.Add(uint8(len(files)-1), uint32(key+4), uint32(1<<31), true)
		f.Add(uint8(len(files)-1), uint32(key+4), uint32(0x7fc00000), false)
	}
	f.Fuzz(func(t *testing.T, which uint8, at, value uint32, fromEnd bool) {
		i := int(which) % len(files)
		data := bytes.Clone(files[i])
		place := int(at) % (heads[i] - 4)
		if fromEnd { // the descriptions of tensors are there
			place = heads[i] - 4 - place
		}
		binary.LittleEndian.PutUint32(data[place:], value)
		file, err := gguf.Parse(data)
		if err != nil {
			return
		}
		n, err := LoadNetwork(file, pool, NetworkConfig{})
		if err != nil {
			return
		}
		defer n.Close()
		c, err := NewCache(n, CacheConfig{Type: gguf.TypeF16, Pages: 2})
		if err != nil {
			return
		}
		defer c.Close()
		_ = n.Forward(c, []Slice{{Seq: seqOf(t, c, 40), Tokens: make([]int32, 40), Outputs: 1}})
	})
}
