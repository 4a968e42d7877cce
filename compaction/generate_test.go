package compaction

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/tier"
)

// random generates histories like those of agents, and some that no agent would write.
type random struct {
	*rand.Rand
	calls int
}

func newRandom(seed uint64) *random { return &random{Rand: rand.New(rand.NewPCG(seed, 17))} }

var vocabulary = strings.Fields(`the error in handleRequest is at server.go:42 because user_id was nil and expected 200 got 500 while
	internal/app/router.go calls parseHeader FAIL: TestServer_Shutdown ok PASS panic: goroutine 1 [running] func (s *Server) return err
	1234567 0xdeadbeef ─── héllo 世界 🎉 </ledger> ⇒ <summary> artifact- [compacted:`)

func (r *random) text(words int) string {
	var b strings.Builder
	for range words {
		b.WriteString(vocabulary[r.IntN(len(vocabulary))])
		b.WriteByte(" \n"[min(r.IntN(9)/8, 1)])
	}
	return b.String()
}

// length returns a length that is mostly small and sometimes enormous.
func (r *random) length() int {
	switch r.IntN(20) {
	case 0:
		return r.IntN(4000)
	case 1, 2, 3:
		return r.IntN(600)
	default:
		return r.IntN(60)
	}
}

func (r *random) file(path string) string {
	var b strings.Builder
	for i := range 20 + r.IntN(120) {
		fmt.Fprintf(&b, "%d\tfunc f%d_%s() { return %d }\n", i+1, i, strings.ReplaceAll(path, ".", "_"), r.IntN(3))
	}
	return b.String()
}

// call returns a random call and its result.
func (r *random) call() (agent.ToolCall, agent.ToolResult) {
	r.calls++
	path := fmt.Sprintf("pkg/f%d.go", r.IntN(5))
	c := agent.ToolCall{ID: fmt.Sprintf("call_%d", r.calls)}
	res := agent.ToolResult{CallID: c.ID, IsError: r.IntN(8) == 0}
	args := func(v any) {
		raw, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		c.Args = raw
	}
	text := r.text(r.length())
	switch r.IntN(8) {
	case 0, 1:
		c.Name = "read"
		args(map[string]any{"path": path, "offset": r.IntN(3)})
		text = r.file(path)
	case 2:
		c.Name = "edit"
		args(map[string]any{"path": path, "old": r.text(r.length()), "new": r.text(r.length())})
	case 3, 4:
		c.Name = "shell"
		args(map[string]any{"command": []string{"go test ./...", "sed -n '1,40p' " + path, "grep -rn foo .", "ls -R", "cat > " + path + " <<'E'\n" + r.text(50) + "\nE"}[r.IntN(5)]})
		text += fmt.Sprintf("\n[exit code %d after 12ms]", r.IntN(2))
	case 5:
		c.Name = "todo"
		args(map[string]any{"todos": []map[string]string{{"text": r.text(4), "status": "pending"}}})
	case 6:
		c.Name, c.Args = "odd", json.RawMessage(`{"broken": `+r.text(r.length()))
	default:
		c.Name = "search"
		args(map[string]any{"query": r.text(3)})
	}
	res.Parts = []agent.Part{agent.Text{Text: text}}
	switch r.IntN(12) {
	case 0:
		res.Parts = append(res.Parts, agent.Image{MediaType: "image/png", Data: []byte("png")})
	case 1:
		res.Parts = append(res.Parts, agent.Opaque{Provider: "p", Data: json.RawMessage(`{"x":1}`)})
	case 2:
		res.Parts = nil
	}
	return c, res
}

// history returns a conversation of about steps model calls, in one user turn or several.
func (r *random) history(steps int) []agent.Message {
	ms := []agent.Message{agent.UserText("task: " + r.text(5+r.length()))}
	turns := r.IntN(3) == 0
	for range steps {
		m := agent.Message{Role: agent.RoleAssistant}
		switch r.IntN(4) {
		case 0:
			m.Parts = append(m.Parts, agent.Thinking{Text: r.text(r.length()), Signature: "sig-" + r.text(2)})
		case 1:
			m.Parts = append(m.Parts, agent.Thinking{Text: r.text(r.length())})
		}
		if r.IntN(2) == 0 {
			m.Parts = append(m.Parts, agent.Text{Text: r.text(r.length())})
		}
		results := agent.Message{Role: agent.RoleTool}
		for range 1 + r.IntN(3)/2 {
			c, res := r.call()
			m.Parts = append(m.Parts, c)
			results.Parts = append(results.Parts, res)
		}
		ms = append(ms, m, results)
		switch {
		case turns && r.IntN(6) == 0:
			ms = append(ms, agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Text{Text: r.text(30)}}}, agent.UserText("next: "+r.text(r.length())))
		case r.IntN(15) == 0:
			ms = append(ms, agent.UserText("<reminder>\n"+r.text(10)+"\n</reminder>"))
		case r.IntN(15) == 0:
			ms = append(ms, agent.UserText("steer: "+r.text(10)))
		}
	}
	return ms
}

// each runs f over n random histories: a tenth of n with -short, and ten times n in the long tier.
func each(t *testing.T, n int, f func(t *testing.T, r *random, ms []agent.Message)) {
	t.Helper()
	for seed := range uint64(tier.Pick(n/10+3, n, 10*n)) {
		r := newRandom(seed)
		ms := r.history(r.IntN(40))
		f(t, r, ms)
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}
