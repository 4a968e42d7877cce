package router

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBanditMerges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	a := newTestBandit(t, 1, Arm{Name: "x"}, Arm{Name: "y"})
	b := newTestBandit(t, 2, Arm{Name: "y"}, Arm{Name: "z"}) // another pool: only y is in both
	odd := Case{Purpose: "a/b", Size: 2, Failures: 1}
	a.Observe(act, 1, 1, 1, 2)
	a.Observe(odd, 0, 0, 0, 0)
	b.Observe(act, 0, 0, 3, 3)
	for _, m := range []*Bandit{a, b, a, a} { // merging again adds nothing
		if err := m.Merge(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(b.state[0].save(), a.state[1].save()); diff != "" {
		t.Errorf("the two do not agree on y:\n%s", diff)
	}
	got, err := readState(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]savedArm{
		"x": {All: [2]float64{0, 1}, Cases: map[string][2]float64{"a/b/2/1": {0, 1}}},
		"y": {Expected: 4, Spent: 5, All: [2]float64{1, 1}, Cases: map[string][2]float64{"act/1/0": {1, 1}}},
		"z": {Cases: map[string][2]float64{}},
	}
	if diff := cmp.Diff(want, got.Arms); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
	again := newTestBandit(t, 1, Arm{Name: "x"}, Arm{Name: "y"})
	if err := again.Merge(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a.Estimate(odd, Offer{Arm: 0}), again.Estimate(odd, Offer{Arm: 0})); diff != "" {
		t.Errorf("a new process estimates otherwise:\n%s", diff)
	}
}

func TestBanditMergeErrors(t *testing.T) {
	for name, data := range map[string]string{
		"garbage": "{", "version": `{"version":99}`, "negative": `{"version":1,"arms":{"a":{"spent":-1}}}`,
		"case": `{"version":1,"arms":{"a":{"cases":{"act":[1,1]}}}}`, "count": `{"version":1,"arms":{"a":{"cases":{"act/0/0":[1,-1]}}}}`,
		"empty": "",
	} {
		path := filepath.Join(t.TempDir(), "state.json")
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		b := newTestBandit(t, 1, Arm{Name: "a"})
		b.Observe(act, 0, 1, 0, 0)
		if err := b.Merge(t.Context(), path); err == nil {
			t.Errorf("%s: no error", name)
		}
		if got, _ := os.ReadFile(path); string(got) != data {
			t.Errorf("%s: the file was changed to %q", name, got)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := b.Merge(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		if s, err := readState(path); err != nil || s.Arms["a"].All != [2]float64{1, 0} {
			t.Errorf("%s: after the error the observation is lost: %+v, %v", name, s, err)
		}
	}
	path := filepath.Join(t.TempDir(), "state.json")
	if err := os.Mkdir(path+".new", 0o700); err != nil { // blocks the write
		t.Fatal(err)
	}
	w := newTestBandit(t, 1, Arm{Name: "a"})
	w.Observe(act, 0, 1, 0, 0)
	if err := w.Merge(t.Context(), path); err == nil {
		t.Error("no error where the file cannot be written")
	}
	if err := errors.Join(os.Remove(path+".new"), w.Merge(t.Context(), path)); err != nil {
		t.Fatal(err)
	}
	if s, err := readState(path); err != nil || s.Arms["a"].All != [2]float64{1, 0} {
		t.Errorf("after a write that failed the observation is lost: %+v, %v", s, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := newTestBandit(t, 1, Arm{Name: "a"})
	if err := b.Merge(ctx, filepath.Join(t.TempDir(), "no", "such", "dir")); err == nil {
		t.Error("no error where there is no directory")
	}
}

// TestBanditMergesWhileUsed checks that merges from many goroutines, while others choose and
// observe, neither lose nor double an observation.
func TestBanditMergesWhileUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	var wg sync.WaitGroup
	for p := range 4 {
		b := newTestBandit(t, uint64(p), Arm{Name: "a"})
		for range 2 {
			wg.Go(func() {
				for i := range 50 {
					b.Choose(act, []Offer{{}}, nil)
					b.Observe(act, 0, 1, 1, 1)
					if i%5 == 4 {
						if err := b.Merge(context.Background(), path); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
	}
	wg.Wait()
	s, err := readState(path)
	if err != nil || s.Arms["a"].All != [2]float64{400, 0} {
		t.Errorf("%+v, %v; want 400 good", s, err)
	}
}

// TestBanditObservesWhileItMerges checks that the state in memory, without another merge, includes
// everything that was observed.
func TestBanditObservesWhileItMerges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	b := newTestBandit(t, 1, Arm{Name: "a"})
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if err := b.Merge(context.Background(), path); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	const n = memory - 1
	for i := range n {
		b.Observe(act, 0, 1, 0, 0)
		if i%100 == 0 {
			time.Sleep(time.Millisecond) // so that a merge comes in between
		}
	}
	close(done)
	wg.Wait()
	if got := b.state[0].all.Good; got != n {
		t.Errorf("%v of %d observations are known", got, n)
	}
}

const envKill = "LUTHIER_TEST_BANDIT_STATE"

// TestBanditProcess is the process that TestBanditSurvivesKill kills.
func TestBanditProcess(t *testing.T) {
	path := os.Getenv(envKill)
	if path == "" {
		t.Skip("runs as a process of TestBanditSurvivesKill")
	}
	b := newTestBandit(t, 1, Arm{Name: "a"})
	for n := 1; ; n++ {
		b.Observe(Case{Purpose: "act" + strconv.Itoa(n%300)}, 0, 1, 0, 0)
		if err := b.Merge(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		fmt.Println(n)
	}
}

// TestBanditSurvivesKill kills processes that share a state, at random moments. The observations
// that they acknowledged must be in the file, and the file must never be torn.
//
// Evidence: routers · What routers learn survives a kill
func TestBanditSurvivesKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	path := filepath.Join(t.TempDir(), "state.json")
	r := rand.New(rand.NewPCG(4, 4))
	acknowledged, started := 0, 0
	for range 12 {
		var acks [2]int
		var wg sync.WaitGroup
		for i := range acks {
			started++
			after := time.Duration(r.IntN(40_000)) * time.Microsecond
			wg.Go(func() { acks[i] = runAndKill(t, path, after) })
		}
		wg.Wait()
		acknowledged += acks[0] + acks[1]
		s, err := readState(path)
		if err != nil {
			t.Fatal(err)
		}
		n := int(s.Arms["a"].All[0])
		if n < acknowledged || n > acknowledged+started { // a process may have been killed after a write and before its acknowledgement
			t.Fatalf("%d outcomes are in the file; %d were acknowledged by %d processes", n, acknowledged, started)
		}
		acknowledged = n
		started = 0
	}
	if acknowledged == 0 {
		t.Error("no process got to merge anything")
	}
}

// runAndKill starts a process that merges until it is killed, some time after its first
// acknowledgement. It returns the process's last acknowledgement.
func runAndKill(t *testing.T, path string, after time.Duration) int {
	cmd := exec.Command(os.Args[0], "-test.run=^TestBanditProcess$")
	cmd.Env = append(os.Environ(), envKill+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
		return 0
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return 0
	}
	last := 0
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		n, err := strconv.Atoi(lines.Text())
		if err != nil || n != last+1 {
			t.Errorf("the process says %q after %d", lines.Text(), last)
		}
		if last == 0 {
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
		last = n
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Errorf("the process ended by itself: %v", err)
	}
	return last
}

// TestBanditStateIsWrittenAsAWhole cuts off a write at every byte: only the temporary file can be
// torn, and it is never read.
func TestBanditStateIsWrittenAsAWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	b := newTestBandit(t, 1, Arm{Name: "a"})
	b.Observe(act, 0, 1, 1, 1)
	if err := b.Merge(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if err := os.WriteFile(path+".new", whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		c := newTestBandit(t, 1, Arm{Name: "a"})
		if err := c.Merge(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != string(whole) {
			t.Fatalf("after a write cut at byte %d the state is %q, %v", n, got, err)
		}
	}
}

func FuzzBanditState(f *testing.F) {
	for _, s := range []string{`{"version":1,"arms":{"a":{"expected":1,"spent":2,"all":[1,2],"cases":{"act/1/0":[1,2]}}}}`,
		`{"version":1}`, `{"version":1,"arms":{"a":{"cases":{"//":[0,0]}}}}`, `{"version":2}`, "", `{"version":1,"arms":null}`,
		`{"version":1,"arms":{"a":{"all":[1e300,0]}}}`, `{"version":1,"arms":{"a":{"cases":{"x/300/0":[0,0]}}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseState(data)
		if err != nil {
			return
		}
		b := newTestBandit(t, 1, Arm{Name: "a"})
		b.state[0] = loadArm(s.Arms["a"])
		if e := b.Estimate(act, Offer{Dollars: 1}); !(e.Good >= 0 && e.Good <= 1 && e.Dollars >= 0) {
			t.Fatalf("%q gives %+v", data, e)
		}
		first := b.state[0].save()
		again := loadArm(first)
		if diff := cmp.Diff(first, again.save()); diff != "" {
			t.Fatalf("%q does not survive a round trip:\n%s", data, diff)
		}
	})
}
