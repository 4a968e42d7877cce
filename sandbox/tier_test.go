package sandbox

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTierNames(t *testing.T) {
	for tier := range tierNames {
		got, err := ParseTier(tier.String())
		if err != nil || got != tier {
			t.Errorf("ParseTier(%q) = %v, %v", tier, got, err)
		}
	}
	if _, err := ParseTier("moat"); err == nil {
		t.Error("no error for an unknown tier")
	}
	if !(TierNone < TierLandlock && TierLandlock < TierBubblewrap && TierBubblewrap < TierNamespaces) {
		t.Error("tiers are out of order")
	}
}

func TestIsolationReport(t *testing.T) {
	iso := newIsolation(TierLandlock, Wall{Name: WallNetwork, Enforced: true, Detail: "by test"})
	iso.Missing = []string{"a moat"}
	iso.Tried = []Attempt{{Tier: TierNamespaces, Cause: "forbidden"}}
	b, err := json.Marshal(iso)
	if err != nil {
		t.Fatal(err)
	}
	var back Isolation
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(iso, back); d != "" {
		t.Error(d)
	}
	want := `tier landlock
  no   filesystem   not enforced
  yes  network      by test
  no   processes    not enforced
  no   ipc          not enforced
  no   identity     not enforced
  no   privileges   not enforced
  no   syscalls     not enforced
  no   environment  not enforced
  no   limits       not enforced
  missing: a moat
  tried namespaces: forbidden
`
	if d := cmp.Diff(want, iso.String()); d != "" {
		t.Error(d)
	}
	if w := iso.Wall("drawbridge"); w.Enforced {
		t.Error("an unknown wall stands")
	}
	changed := iso.clone()
	changed.Walls[0].Enforced = true
	if iso.Walls[0].Enforced {
		t.Error("a copy shares its walls")
	}
}

func FuzzIsolationJSON(f *testing.F) {
	b, _ := json.Marshal(newIsolation(TierNamespaces, Wall{Name: WallIPC, Enforced: true}))
	f.Add(b)
	f.Add([]byte(`{"tier":"none","walls":null}`))
	f.Add([]byte(`{"tier":"x"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var a, c Isolation
		if json.Unmarshal(b, &a) != nil || !a.Tier.valid() {
			return
		}
		again, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(again, &c); err != nil || cmp.Diff(a.String(), c.String()) != "" {
			t.Fatalf("%s became %s: %v", b, again, err)
		}
	})
}

func FuzzGoEnvFile(f *testing.F) {
	f.Add([]byte("GOFLAGS=-mod=mod\n# comment\nGOPATH=/x\n"), "GOFLAGS")
	f.Add([]byte("=\n==\nA\n"), "")
	f.Fuzz(func(t *testing.T, b []byte, key string) {
		for k := range parseGoEnv(b) {
			if k == "" || k[0] == '#' {
				t.Errorf("key %q", k)
			}
		}
	})
}

func TestEnvironmentIsAnAllowList(t *testing.T) {
	got := filterEnv([]string{"PATH=/bin", "LC_ALL=C", "AWS_SECRET_ACCESS_KEY=x", "GITHUB_TOKEN=x", "MY_VAR=1", "=odd", "novalue"}, passedEnv, []string{"MY_*"})
	if d := cmp.Diff([]string{"PATH=/bin", "LC_ALL=C", "MY_VAR=1"}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"A=3", "B=2"}, mergeEnv([]string{"A=1", "B=2"}, []string{"A=3"})); d != "" {
		t.Error(d)
	}
}
