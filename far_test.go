package luthier

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

// TestExceeds: a call that was not prepared runs only if it does no more than was allowed.
func TestExceeds(t *testing.T) {
	all := farEffects(agent.Writing("."))
	src := farEffects(agent.Writing("src"))
	read := farEffects(agent.ReadOnly("."))
	deletes := all
	deletes.Flags = agent.EffectDelete
	with := func(e agent.Effects, f agent.EffectFlags) agent.Effects { e.Flags |= f; return e }
	for _, c := range []struct {
		name    string
		effects agent.Effects
		allowed *farEffects
		want    bool
	}{
		{"approved as prepared", agent.Effects{}, nil, false},
		{"unknown effects", agent.Effects{}, &all, true},
		{"a read", agent.ReadOnly("a.go"), &read, false},
		{"a write where reads are allowed", agent.Writing("a.go"), &read, true},
		{"a read where writes are allowed", agent.ReadOnly("a.go"), &all, false},
		{"a write", agent.Writing("a.go", "b/c.go"), &all, false},
		{"a write outside", agent.Writing("../a.go"), &all, true},
		{"an absolute path", agent.ReadOnly("/etc/passwd"), &read, true},
		{"a read outside", agent.ReadOnly("b/../../a"), &read, true},
		{"one of two outside", agent.Writing("src/a", "other"), &src, true},
		{"a name that begins alike", agent.Writing("srcs/a"), &src, true},
		{"below", agent.Writing("src/a"), &src, false},
		{"a secret", with(agent.ReadOnly(".env"), agent.EffectSecret), &read, true},
		{"a delete", with(agent.Writing("a"), agent.EffectDelete), &all, true},
		{"an allowed delete", with(agent.Writing("a"), agent.EffectDelete), &deletes, false},
		{"what is obeyed", with(agent.Writing("a"), agent.EffectObeyed), &deletes, true},
		{"a flag of a newer version", with(agent.ReadOnly("a"), 1<<31), &read, true},
		{"nothing", agent.Effects{Known: true}, &read, false},
	} {
		if got := exceeds(c.effects, c.allowed); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// FuzzFarCall checks that a call which is read is written again as it was, arguments that are no
// JSON included.
func FuzzFarCall(f *testing.F) {
	f.Add([]byte(`{"call":{"id":"","name":"","args":{"a":1}},"allowed":{"known":true,"writes":["."]}}`))
	f.Add([]byte(`{"call":{"raw_args":"{'a"}}`))
	f.Add([]byte(`{"call":{"data_args":"/w=="}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c farCall
		if json.Unmarshal(data, &c) != nil {
			return
		}
		out, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var again farCall
		if err := json.Unmarshal(out, &again); err != nil || !bytes.Equal(again.Call.Args, c.Call.Args) || (again.Allowed == nil) != (c.Allowed == nil) {
			t.Fatalf("%s became %s, %v", data, out, err)
		}
		exceeds(agent.Writing("a"), c.Allowed)
	})
}
