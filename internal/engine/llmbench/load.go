package main

import (
	"errors"
	"io"
	"os"
	"runtime/debug"

	"github.com/luthier-dev/luthier/internal/engine/tensor"
	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// loadContext is the number of tokens in the cache whose size is included in the memory use.
const loadContext = 8192

// load compares loading a model with reading the file, with and without the file in the page cache,
// and reports the memory used. The file is read through a small buffer, as by cat, and also into
// memory that is new to the process, which every program that keeps the weights has to do. On a
// virtual machine, the first access to memory can take longer than reading the file.
func load(o options, file string, threads int) error {
	for _, state := range []string{"warm", "cold"} {
		var read, kept, loaded []float64
		var mem memory
		for range o.reps {
			for _, x := range []struct {
				dst *[]float64
				run func() error
			}{{&read, func() error { return readThrough(file) }}, {&kept, func() error { return readInto(file) }}, {&loaded, func() error { return mem.measure(file, threads, o) }}} {
				if err := pageCache(file, state); err != nil {
					return err
				}
				debug.FreeOSMemory() // free the memory of the previous load
				resetPeak()
				begin := o.now()
				if err := x.run(); err != nil {
					return err
				}
				took := o.now().Sub(begin).Seconds()
				if x.dst == &loaded {
					took = mem.seconds
				}
				*x.dst = append(*x.dst, took)
			}
		}
		row(base(file), threads, state, median(read), median(kept), median(loaded), median(loaded)/median(read), median(loaded)/median(kept), mem.file, mem.kv, mem.resident,
			mem.resident-mem.file-mem.kv, mem.peak-mem.file-mem.kv)
	}
	return nil
}

// pageCache loads the file into the system's page cache or drops it from there.
func pageCache(file, state string) error {
	if state == "cold" {
		return dropCache(file)
	}
	return readThrough(file)
}

// readThrough reads a file as cat does.
func readThrough(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 1<<20)
	for err == nil {
		_, err = f.Read(buf)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// readInto reads a file into new memory, in huge pages if there are any, because the weights are
// kept in such memory.
func readInto(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	arena := tensor.NewArena(0)
	_, err = io.ReadFull(f, arena.Alloc(int(st.Size())))
	return errors.Join(err, arena.Close())
}

// memory holds sizes in MiB.
type memory struct {
	file, kv, resident, peak int
	seconds                  float64 // of loading
}

// measure loads a network, fills a cache for it and measures the memory.
func (mem *memory) measure(path string, threads int, o options) error {
	begin := o.now()
	m, err := open(path, threads, o)
	if err != nil {
		return err
	}
	defer m.close()
	mem.seconds = o.now().Sub(begin).Seconds()
	c, err := transformer.NewCache(m.net, transformer.CacheConfig{Type: o.kv, Pages: transformer.PagesFor(loadContext)})
	if err != nil {
		return err
	}
	defer c.Close()
	for i := range int32(c.Pages()) {
		c.Copy(i, (i+1)%int32(c.Pages())) // touches the pages, so that they are resident
	}
	mem.file, mem.kv = int(m.file.Size()>>20), c.Bytes()>>20
	mem.resident, mem.peak = residentMiB()
	return nil
}
