package fleet

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	h := func(id string, leased int, snaps ...string) HostStatus {
		return HostStatus{ID: id, Classes: []string{"c"}, Places: 10, Leased: leased, Snapshots: snaps}
	}
	drain := h("drain", 0, "s")
	drain.Draining = true
	other := h("other", 0, "s")
	other.Classes = []string{"d"}
	for _, tt := range []struct {
		what  string
		hosts []HostStatus
		spec  Spec
		want  string
	}{
		{"the least loaded", []HostStatus{h("a", 5), h("b", 1), h("c", 9)}, Spec{Class: "c"}, "b"},
		{"the snapshot goes before the load", []HostStatus{h("a", 0), h("b", 9, "s"), h("c", 0)}, Spec{Class: "c", Snapshot: "s"}, "b"},
		{"unless it is full", []HostStatus{h("a", 3), h("b", 10, "s"), h("c", 4)}, Spec{Class: "c", Snapshot: "s"}, "a"},
		{"neither draining nor of another class", []HostStatus{drain, other, h("a", 9)}, Spec{Class: "c", Snapshot: "s"}, "a"},
		{"a full one, if all are", []HostStatus{h("a", 11), h("b", 10)}, Spec{Class: "c"}, "b"},
	} {
		for range 20 {
			if got, err := Place(tt.hosts, tt.spec, r); err != nil || got.ID != tt.want {
				t.Errorf("%s: %s, %v; want %s", tt.what, got.ID, err, tt.want)
			}
		}
	}
	if _, err := Place([]HostStatus{drain, other}, Spec{Class: "c"}, r); !errors.Is(err, ErrNoHost) {
		t.Errorf("nobody fits: %v", err)
	}
	// Of many equally loaded hosts, none is preferred.
	var many []HostStatus
	for i := range 20 {
		many = append(many, h(fmt.Sprint(i), 2))
	}
	got := map[string]int{}
	for range 2000 {
		s, _ := Place(many, Spec{Class: "c"}, r)
		got[s.ID]++
	}
	for _, s := range many {
		if got[s.ID] < 50 || got[s.ID] > 200 {
			t.Errorf("host %s was chosen %d times of 2000", s.ID, got[s.ID])
		}
	}
}
