package retrieval_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval"
)

// helperVar is the environment variable that makes the test binary a helper process. It holds the
// task, the tree and its cache, one per line.
const helperVar = "RETRIEVAL_TEST_HELPER"

// helper starts this test binary as another process that works on an index. The scanner reads its
// output.
func helper(t testing.TB, what, dir, cache string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe, "-test.run=^TestHelperProcess$", "-test.count=1", fmt.Sprintf("-test.short=%t", testing.Short()))
	c.Env = append(os.Environ(), helperVar+"="+what+"\n"+dir+"\n"+cache)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return c, bufio.NewScanner(out)
}

// writes is the number of files that a helper writes.
func writes() int { return tier.Pick(16, 40, 40) }

// TestHelperProcess is the body of the helper processes; in a normal test run it does nothing.
func TestHelperProcess(t *testing.T) {
	job := strings.Split(os.Getenv(helperVar), "\n")
	if len(job) != 3 {
		t.Skip("only for other tests")
	}
	what, dir, cache := job[0], job[1], job[2]
	fmt.Println("started")
	x, err := retrieval.Open(t.Context(), dir, retrieval.Config{CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	fmt.Println("opened")
	switch what {
	case "open":
		allReady(t, x)
	case "update": // until it is killed
		for i := 0; ; i++ {
			name := fmt.Sprintf("encoding/h%d.go", i%40)
			if i%7 == 6 {
				os.Remove(filepath.Join(dir, name))
			} else {
				put(t, dir, name, animal("heron")+strings.Repeat("// reed\n", i%30))
			}
			if err := x.Update(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			if i%50 == 49 {
				if err := x.Update(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if i == 0 {
				fmt.Println("updated")
			}
		}
	case "write": // the files that the other process must find
		allReady(t, x) // Update does not wait for symbols under construction
		for i := range writes() {
			name := fmt.Sprintf("encoding/h%d.go", i)
			put(t, dir, name, fmt.Sprintf("package p\n\n// Stork%d flies.\nfunc Stork%d() {}\n", i, i))
			if err := x.Update(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			fmt.Println("wrote", name)
		}
	}
	fmt.Println("done")
}

// awaitLine reads up to a line that contains text.
func awaitLine(t testing.TB, lines *bufio.Scanner, text string) {
	t.Helper()
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	t.Fatalf("the helper ended before it said %q", text)
}

// TestTwoProcesses updates an index in one process and searches it in another. The other process
// must find each change at once, without calling Update itself.
func TestTwoProcesses(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	dir, cache := goSource(t, "encoding"), t.TempDir()
	x := open(t, dir, retrieval.Config{CacheDir: cache})
	allReady(t, x)
	before := answers(t, x)
	c, lines := helper(t, "write", dir, cache)
	awaitLine(t, lines, "opened")
	seen := 0
	for lines.Scan() {
		var name string
		if n, _ := fmt.Sscanf(lines.Text(), "wrote %s", &name); n == 1 {
			word := strings.TrimSuffix(strings.TrimPrefix(name, "encoding/h"), ".go")
			if got := first(t, x, "Stork"+word); got != name {
				t.Errorf("%s was taken in by the other process; found %q", name, got)
			}
			if d, err := x.Definitions(t.Context(), "Stork"+word); err != nil || len(d) != 1 {
				t.Errorf("Stork%s: %v, %v", word, d, err)
			}
			if seen++; seen%tier.Pick(8, 5, 1) == 0 { // all queries take longer than an update
				if got := answers(t, x); len(got) != len(before) {
					t.Errorf("beside updates only %d of %d queries have answers", len(got), len(before))
				}
			}
		}
		if lines.Text() == "done" {
			break
		}
	}
	if err := c.Wait(); err != nil || seen != writes() {
		t.Errorf("the other process: %v; %d updates seen", err, seen)
	}
	nearFresh(t, x, dir, "after another process's updates")
}

// TestTwoWriters updates one index from two other processes and from this one.
//
// Evidence: retrieval · Several processes can update one index
func TestTwoWriters(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	dir, cache := goSource(t, "encoding"), t.TempDir()
	a, la := helper(t, "update", dir, cache)
	b, lb := helper(t, "write", dir, cache)
	awaitLine(t, la, "opened")
	x := open(t, dir, retrieval.Config{CacheDir: cache})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	mine := tier.Pick(8, 20, 20)
	for i := range mine {
		name := fmt.Sprintf("encoding/mine%d.go", i)
		put(t, dir, name, animal("egret"))
		if err := x.Update(ctx, name); err != nil {
			t.Fatal(err)
		}
		if got := first(t, x, "egret"); !strings.HasPrefix(got, "encoding/mine") {
			t.Errorf("found %q", got)
		}
	}
	awaitLine(t, lb, "done")
	if err := b.Wait(); err != nil {
		t.Error(err)
	}
	a.Process.Kill()
	a.Wait()
	if err := x.Update(ctx); err != nil {
		t.Fatal(err)
	}
	nearFresh(t, x, dir, "after two writers")
	if got := grepped(t, x, retrieval.GrepQuery{Pattern: "egret lives"}); len(got) != mine {
		t.Errorf("found %v", got)
	}
}

// TestOpenTogether opens a tree without an index in several processes at the same time. All must
// succeed, and one index must remain.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	dir, cache := lessGoSource(t, "encoding"), t.TempDir()
	var all []*exec.Cmd
	for range 4 {
		c, lines := helper(t, "open", dir, cache)
		go func() {
			for lines.Scan() {
			}
		}()
		all = append(all, c)
	}
	for _, c := range all {
		if err := c.Wait(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	}
	x := open(t, dir, retrieval.Config{CacheDir: cache})
	allReady(t, x)
	asFresh(t, x, dir, "after four at once")
	if s := layerNamed(t, x.Status(), "index"); s.Segments > 8 || s.Rebuilt != "" {
		t.Errorf("%+v", s)
	}
}

// TestKilledDuringOpen kills processes at many moments of their first Open of a tree. The caches
// that they leave must produce exactly the answers of a fresh one.
//
// Evidence: retrieval · A kill at any moment leaves a sound cache
func TestKilledDuringOpen(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	dir := lessGoSource(t, "encoding")
	want := freshAnswers(t, dir)
	kill(t, dir, func(t *testing.T, cache string) *retrieval.Index {
		x := open(t, dir, retrieval.Config{CacheDir: cache})
		allReady(t, x)
		answersAre(t, x, want, "after a kill")
		return x
	}, "open", "started")
}

// TestKilledDuringUpdates kills processes while they edit files and update their index.
//
// Evidence: retrieval · A kill at any moment leaves a sound cache
func TestKilledDuringUpdates(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	dir := goSource(t, "encoding")
	worst := 0.0
	kill(t, dir, func(t *testing.T, cache string) *retrieval.Index {
		x := open(t, dir, retrieval.Config{CacheDir: cache})
		allReady(t, x)
		worst = max(worst, nearFresh(t, x, dir, "after a kill", append(tenQueries, "heron in the reed")...))
		return x
	}, "update", "updated")
	t.Logf("the same files in another history change scores by %.3f at most", worst)
}

// kill starts helpers that share a cache, and checks the cache after each. It kills each helper a
// little later than the previous one, counted from a line of the helper's output.
func kill(t *testing.T, dir string, check func(*testing.T, string) *retrieval.Index, what, line string) {
	moments := tier.Pick(3, 5, 24)
	start := time.Now()
	c, lines := helper(t, what, dir, t.TempDir())
	awaitLine(t, lines, line)
	from := time.Now()
	if what == "open" {
		awaitLine(t, lines, "done")
	} else {
		time.Sleep(300 * time.Millisecond)
	}
	span := time.Since(from)
	c.Process.Kill()
	c.Wait()
	t.Logf("a helper says %q after %v and takes %v", line, from.Sub(start), span)
	kept := t.TempDir() // half of them continue where the last one was killed
	for i := range moments {
		cache := kept
		if i%2 == 0 {
			cache = t.TempDir()
		}
		c, lines := helper(t, what, dir, cache)
		awaitLine(t, lines, line)
		time.Sleep(span * time.Duration(i) / time.Duration(moments))
		c.Process.Kill()
		c.Wait()
		settle()
		x := check(t, cache)
		onDisk, err := filepath.Glob(filepath.Join(dir, "encoding", "h*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, p := range onDisk {
			if text, _ := os.ReadFile(p); strings.Contains(string(text), "lives here") {
				want = append(want, "encoding/"+filepath.Base(p))
			}
		}
		for _, l := range grepped(t, x, retrieval.GrepQuery{Pattern: "lives here"}) {
			got = append(got, strings.TrimSuffix(l, ":3"))
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("killed at moment %d: grep finds %v of %v", i, got, want)
		}
		for _, l := range x.Status().Layers {
			if l.Err != nil || l.InMemory != "" || l.Rebuilt != "" {
				t.Errorf("killed at moment %d: %+v", i, l)
			}
		}
		x.Close()
	}
}
