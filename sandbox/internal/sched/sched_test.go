package sched

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at returns a time of a clock that only tests advance.
func at(d time.Duration) time.Time { return time.Unix(1_000_000, 0).Add(d) }

// order queues all requests, then frees one place after the other and returns who got it.
func order(t *testing.T, s *Schedule, now time.Time, ws ...*Waiter) string {
	t.Helper()
	for _, w := range ws {
		if _, err := s.Add(w, w.At); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for len(s.Waiting) > 0 {
		for _, w := range s.Grant(now) {
			got = append(got, w.Tenant)
			s.Release(w.Tenant)
		}
	}
	return strings.Join(got, " ")
}

func TestScheduleOrder(t *testing.T) {
	w := func(name string, priority int, arrived, deadline time.Duration) *Waiter {
		w := &Waiter{Tenant: name, Priority: priority, At: at(arrived)}
		if deadline > 0 {
			w.Deadline = at(deadline)
		}
		return w
	}
	for _, tt := range []struct {
		name string
		in   []*Waiter
		want string
	}{
		{"first come", []*Waiter{w("a", 0, 0, 0), w("b", 0, 1, 0), w("c", 0, 2, 0)}, "a b c"},
		{"priority", []*Waiter{w("a", 0, 0, 0), w("b", 2, 1, 0), w("c", 1, 2, 0)}, "b c a"},
		{"deadline", []*Waiter{w("a", 0, 0, 0), w("b", 0, 1, time.Hour), w("c", 0, 2, time.Minute)}, "c b a"},
		{"waiting earns priority", []*Waiter{w("a", 1, 0, 0), w("b", 2, 25*time.Second, 0)}, "a b"},
		{"but not at once", []*Waiter{w("a", 1, 20*time.Second, 0), w("b", 2, 25*time.Second, 0)}, "b a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New(1, 100, 10*time.Second)
			if got := order(t, s, at(29*time.Second), tt.in...); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if s.Running != 0 || len(s.tenants) != 0 {
				t.Errorf("left: %d running, tenants %v", s.Running, s.tenants)
			}
		})
	}
}

// TestScheduleIsFair checks that a tenant with a thousand requests does not keep another from its
// half.
//
// Evidence: sandbox · Tenants that wait get fair shares
func TestScheduleIsFair(t *testing.T) {
	s := New(4, 2000, 0)
	for range 1000 {
		if _, err := s.Add(&Waiter{Tenant: "many", At: at(0)}, at(0)); err != nil {
			t.Fatal(err)
		}
	}
	running := map[string]int{}
	note := func(ws []*Waiter) {
		for _, w := range ws {
			running[w.Tenant]++
		}
	}
	note(s.Grant(at(0)))
	for range 10 {
		if _, err := s.Add(&Waiter{Tenant: "few", At: at(1)}, at(1)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // two places become free, and both go to the other tenant
		s.Release("many")
		running["many"]--
		note(s.Grant(at(2)))
	}
	if d := cmp.Diff(map[string]int{"many": 2, "few": 2}, running); d != "" {
		t.Error(d)
	}
	s.Release("few")
	running["few"]--
	note(s.Grant(at(3)))
	if running["few"] != 2 {
		t.Errorf("after one more: %v", running)
	}
}

func TestScheduleQueueIsBounded(t *testing.T) {
	s := New(1, 2, 0)
	add := func(tenant string, priority int) (*Waiter, error) {
		pushed, err := s.Add(&Waiter{Tenant: tenant, Priority: priority}, at(0))
		s.Grant(at(0))
		return pushed, err
	}
	for i, tenant := range []string{"a", "a", "a"} { // one runs, two wait
		if _, err := add(tenant, 0); err != nil {
			t.Fatal(i, err)
		}
	}
	_, err := add("a", 0)
	if !errors.Is(err, ErrFull) || s.Running != 1 || len(s.Waiting) != 2 {
		t.Fatalf("full: %v", err)
	}
	if pushed, err := add("b", 0); err != nil || pushed == nil || pushed.Tenant != "a" || pushed.seq != 3 {
		t.Errorf("a tenant with fewer waiting: %+v, %v", pushed, err)
	}
	if _, err := add("b", 0); err == nil {
		t.Error("no room is made between equals")
	}
	if pushed, err := add("a", 1); err != nil || pushed == nil || pushed.Priority != 0 {
		t.Errorf("a higher priority: %+v, %v", pushed, err)
	}
	none := New(1, 0, 0)
	if _, err := none.Add(&Waiter{}, at(0)); err != nil {
		t.Errorf("a free place needs no queue: %v", err)
	}
	none.Grant(at(0))
	if _, err := none.Add(&Waiter{}, at(0)); err == nil {
		t.Error("without a queue nobody waits")
	}
}

// TestScheduleInvariants checks, for random events in random order, that never more than the places
// are given out, that no place stays free while somebody waits, that nobody is lost or served
// twice, and that with aging everybody is served.
func TestScheduleInvariants(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		places, queue := 1+r.IntN(5), r.IntN(20)
		s := New(places, queue, time.Second)
		now := time.Duration(0)
		var running []*Waiter
		state := map[*Waiter]string{}
		move := func(w *Waiter, from, to string) {
			if state[w] != from {
				t.Fatalf("seed %d: %+v goes from %q to %q, was %q", seed, w, from, to, state[w])
			}
			state[w] = to
		}
		step := func() {
			for _, w := range s.Grant(at(now)) {
				move(w, "waiting", "running")
				running = append(running, w)
			}
			if len(running) > places || len(running) != s.Running {
				t.Fatalf("seed %d: %d run, %d counted, %d may", seed, len(running), s.Running, places)
			}
			if len(running) < places && len(s.Waiting) > 0 {
				t.Fatalf("seed %d: %d wait for free places", seed, len(s.Waiting))
			}
			if len(s.Waiting) > queue {
				t.Fatalf("seed %d: %d wait, %d may", seed, len(s.Waiting), queue)
			}
		}
		finish := func() {
			i := r.IntN(len(running))
			s.Release(running[i].Tenant)
			move(running[i], "running", "done")
			running = append(running[:i], running[i+1:]...)
		}
		for range 300 {
			now += time.Duration(r.IntN(500)) * time.Millisecond
			switch {
			case r.IntN(3) > 0:
				w := &Waiter{Tenant: fmt.Sprint(r.IntN(4)), Priority: r.IntN(3), At: at(now)}
				pushed, err := s.Add(w, at(now))
				if err != nil {
					break
				}
				state[w] = "waiting"
				if pushed != nil {
					move(pushed, "waiting", "pushed")
				}
			case r.IntN(4) == 0 && len(s.Waiting) > 0:
				w := s.Waiting[r.IntN(len(s.Waiting))]
				if !s.Remove(w) || s.Remove(w) {
					t.Fatalf("seed %d: removal", seed)
				}
				move(w, "waiting", "gone")
			case len(running) > 0:
				finish()
			}
			step()
		}
		for len(running) > 0 {
			now += time.Second
			finish()
			step()
		}
		if len(s.Waiting) > 0 || len(s.tenants) > 0 {
			t.Fatalf("seed %d: left %d waiting, %d tenants", seed, len(s.Waiting), len(s.tenants))
		}
	}
}

// TestScheduleDoesNotStarve checks that a low priority is served in the end, however many requests
// of a higher one arrive.
func TestScheduleDoesNotStarve(t *testing.T) {
	s := New(1, 1000, time.Second)
	low := &Waiter{Tenant: "low", At: at(0)}
	if _, err := s.Add(low, at(0)); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		now := at(time.Duration(i) * time.Second)
		if _, err := s.Add(&Waiter{Tenant: "high", Priority: 5, At: now}, now); err != nil {
			t.Fatal(err)
		}
		for _, w := range s.Grant(now) {
			if w == low {
				if i < 5 {
					t.Errorf("served after %d s already", i)
				}
				return
			}
			s.Release(w.Tenant)
		}
	}
	t.Error("not served in 100 s")
}

func TestDemand(t *testing.T) {
	d := Demand{Window: 10 * time.Second}
	now := time.Duration(0)
	if got := d.Target(at(0), 0, 50); got != 0 {
		t.Errorf("before anything came: %d", got)
	}
	for range 6000 { // 100 a second for a minute
		now += 10 * time.Millisecond
		d.Arrive(at(now))
	}
	if r := d.Rate(at(now)); math.Abs(r-100) > 2 {
		t.Errorf("rate %v, want 100", r)
	}
	d.Made(40 * time.Millisecond) // so four arrive while one is made
	for _, tt := range []struct{ least, most, want int }{{0, 50, 8}, {0, 5, 5}, {12, 50, 12}} {
		if got := d.Target(at(now), tt.least, tt.most); got != tt.want {
			t.Errorf("between %d and %d: %d, want %d", tt.least, tt.most, got, tt.want)
		}
	}
	if got := d.Target(at(now+5*time.Minute), 0, 50); got > 1 {
		t.Errorf("long after: %d", got)
	}
	if r := d.Rate(at(0)); r < 0 || math.IsNaN(r) { // the clock was set back
		t.Errorf("rate %v", r)
	}
	for range 100 {
		d.Made(80 * time.Millisecond)
	}
	if math.Abs(d.Making-0.08) > 0.001 {
		t.Errorf("making takes %v, want 0.08", d.Making)
	}
}

func TestPressure(t *testing.T) {
	for in, want := range map[string]Pressure{
		"some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=0\n": 0,
		"some avg10=12.34 avg60=1.00 avg300=0.10 total=12345":                                              12.34,
		"full avg10=1.00\nsome total=1 avg10=100.00\n":                                                     100,
	} {
		if got, err := ParsePressure([]byte(in)); err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "some", "some avg10=", "some avg10=NaN", "some avg10=-1", "some avg10=101", "full avg10=1"} {
		if got, err := ParsePressure([]byte(in)); err == nil {
			t.Errorf("%q: %v", in, got)
		}
	}
	short := false
	for i, tt := range []struct {
		p    Pressure
		want bool
	}{{0, false}, {9, false}, {11, true}, {5, true}, {2, false}, {5, false}} {
		if short = tt.p.Short(short); short != tt.want {
			t.Errorf("step %d: %v", i, short)
		}
	}
}

func FuzzParsePressure(f *testing.F) {
	f.Add([]byte("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"))
	f.Add([]byte("some avg10=1e300"))
	f.Add([]byte("some avg10=\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := ParsePressure(b); err == nil && !(p >= 0 && p <= 100) {
			t.Errorf("%q: %v", b, p)
		}
	})
}
