package compaction

import (
	"fmt"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools"
)

// longRun returns a history of 1,000 messages and about 400,000 tokens.
func longRun() []agent.Message {
	r := newRandom(1)
	ms := []agent.Message{agent.UserText("fix the failing tests")}
	for len(ms) < 1000 {
		c, res := r.call()
		res.Parts = []agent.Part{agent.Text{Text: res.Text() + strings.Repeat(fmt.Sprintf("line %d of the output\n", len(ms)), 40)}}
		ms = append(ms,
			agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Text{Text: r.text(40)}, c}},
			agent.Message{Role: agent.RoleTool, Parts: []agent.Part{res}})
	}
	return ms
}

// BenchmarkDue measures the question that the agent asks before every model call: is compacting
// worth it?
func BenchmarkDue(b *testing.B) {
	ms := longRun()
	c := New(Config{})
	c.Due(ms)
	b.ReportAllocs()
	for b.Loop() {
		c.Due(ms)
	}
}

// BenchmarkPlan measures the decision alone, on a history that was already weighed.
func BenchmarkPlan(b *testing.B) {
	c := New(Config{})
	h := c.survey(longRun())
	b.ReportAllocs()
	for b.Loop() {
		c.plan(h)
	}
}

// BenchmarkSurveyFirst weighs and classifies a history for the first time.
func BenchmarkSurveyFirst(b *testing.B) {
	ms := longRun()
	b.ReportAllocs()
	b.SetBytes(int64(len(transcript(ms))))
	for b.Loop() {
		New(Config{}).survey(ms)
	}
}

// BenchmarkCompact makes room in a history of 1,000 messages: stubs, digests, ledger.
func BenchmarkCompact(b *testing.B) {
	ms := longRun()
	c := New(Config{Store: tools.NewMemStore()})
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := c.Compact(ctx, ms, 50_000); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRecord shortens a long output as it is recorded.
func BenchmarkRecord(b *testing.B) {
	ms := longRun()
	c := New(Config{Store: tools.NewMemStore()})
	call := agent.ToolCall{ID: "x", Name: "shell", Args: []byte(`{"command":"go test ./..."}`)}
	text := newRandom(2).text(20_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		c.record(ctx, call, *agent.TextResult(text), ms, true)
	}
}
