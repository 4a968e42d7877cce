package luthier_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
)

const (
	nestingEnv      = "LUTHIER_NESTING_ENTRY"
	nestingStack    = 64 << 20         // bytes; a sixteenth of what ends a Go program
	nestingHeap     = 2 << 30          // bytes
	nestingPatience = 60 * time.Second // for one input
	sampled         = 13               // one input of so many runs in the default tier
)

// entry is an exported way into the module, with the inputs that it gets here.
type entry struct {
	name   string
	inputs []input
	run    func(t *testing.T, text string)
}

type input struct{ name, text string }

// TestNothingNestsWithoutBound checks every exported entry that reads text of others with recursive
// and deep inputs: schemas, arguments, patches, grammars, templates, commands, files. An entry
// may refuse an input, but it must not overflow the stack, which ends the host, and not take more
// than seconds and a bounded heap. Each entry runs in a process of its own with a small stack.
//
// Evidence: luthier · Recursive schemas, patches, grammars and templates cannot end the host
func TestNothingNestsWithoutBound(t *testing.T) {
	tier.Normal(t)
	for _, e := range nestingEntries() {
		t.Run(e.name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestNestingChild$", "-test.v")
			cmd.Env = append(os.Environ(), nestingEnv+"="+e.name)
			out, err := cmd.CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte("--- PASS: TestNestingChild")) {
				t.Errorf("%v\n%s", err, excerpt(out))
			}
		})
	}
}

// excerpt returns the last input and the reason of a failure.
func excerpt(out []byte) string {
	at := max(0, bytes.LastIndex(out, []byte("\ninput ")))
	return string(out[at:min(len(out), at+3000)])
}

// TestNestingChild runs the inputs of one entry, in a process that its parent began.
func TestNestingChild(t *testing.T) {
	name := os.Getenv(nestingEnv)
	if name == "" {
		t.Skip("started by TestNothingNestsWithoutBound")
	}
	debug.SetMaxStack(nestingStack)
	entries := nestingEntries()
	i := slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
	for k, in := range entries[i].inputs {
		if !tier.Long() && k%sampled != 0 {
			continue
		}
		fmt.Printf("input %s of %s\n", in.name, name)
		watch := time.AfterFunc(nestingPatience, func() { panic("too slow: " + in.name) })
		stop := watchHeap(in.name)
		begin := time.Now()
		entries[i].run(t, in.text)
		watch.Stop()
		peak := stop()
		fmt.Printf("took %v, heap %d MiB\n", time.Since(begin).Round(time.Millisecond), peak>>20)
	}
}

// watchHeap panics once the heap is above its limit, and returns a function that ends the watch and
// returns the highest size seen.
func watchHeap(name string) func() uint64 {
	done := make(chan struct{})
	var wg sync.WaitGroup
	var peak uint64
	wg.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				if peak = max(peak, m.HeapAlloc); peak > nestingHeap {
					panic(fmt.Sprintf("too much memory: %s: %d MiB", name, peak>>20))
				}
			}
		}
	})
	return func() uint64 { close(done); wg.Wait(); return peak }
}

// nest returns n times before, middle, n times after.
func nest(n int, before, middle, after string) string {
	return strings.Repeat(before, n) + middle + strings.Repeat(after, n)
}
