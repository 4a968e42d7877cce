package langchain

import (
	"net/http"
	"slices"
	"testing"

	"github.com/tmc/langchaingo/llms"
	lcanthropic "github.com/tmc/langchaingo/llms/anthropic"
	lcopenai "github.com/tmc/langchaingo/llms/openai"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
)

func testClient(t testing.TB) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func openaiClient(t testing.TB, url string) llms.Model {
	t.Helper()
	llm, err := lcopenai.New(lcopenai.WithToken("test-key"), lcopenai.WithBaseURL(url), lcopenai.WithModel("gpt-4o"), lcopenai.WithHTTPClient(testClient(t)))
	if err != nil {
		t.Fatal(err)
	}
	return llm
}

func anthropicClient(t testing.TB, url string) llms.Model {
	t.Helper()
	llm, err := lcanthropic.New(lcanthropic.WithToken("test-key"), lcanthropic.WithBaseURL(url), lcanthropic.WithModel("claude-sonnet-4-5"), lcanthropic.WithHTTPClient(testClient(t)))
	if err != nil {
		t.Fatal(err)
	}
	return llm
}

// The scenarios left out below are limits of langchaingo's clients that Capabilities cannot
// express.
var (
	noPieces = []agenttest.ConformanceOption{
		agenttest.Skip("cancel", "it waits for a first piece, and there are no pieces"),
		agenttest.Skip("break", "it waits for a first piece, and there are no pieces"),
	}
	anthropicLimits = []agenttest.ConformanceOption{
		agenttest.Skip("text-empty", "it calls an answer without content an error"),
		agenttest.Skip("usage-reasoning", "it does not report reasoning tokens"),
		agenttest.Skip("tool-call-split-escapes", "it reads arguments into a map and writes them anew"),
		agenttest.Skip("tool-call-dribble", "it reads arguments into a map and writes them anew"),
		agenttest.Skip("tool-call-bad-json", "it reads arguments into a map"),
		agenttest.Skip("tool-arguments-replay", "it reads arguments into a map"),
	}
)

// Evidence: backends · langchaingo models pass the conformance suite, both ways
func TestConformanceOpenAI(t *testing.T) {
	tier.Normal(t)
	agenttest.CheckLeaks(t)
	srv := agenttest.NewServer(t, func(r *agenttest.WireRequest) agenttest.Wire { return &openaiWire{newCollector(r)} })
	llm := openaiClient(t, srv.URL)
	t.Run("streaming", func(t *testing.T) {
		agenttest.Conformance(t, func() agent.Model { return Model(llm) },
			agenttest.Skip("text-long-line", "its stream reader takes lines of 64 KiB at most"),
			agenttest.Skip("garbage", "its stream reader drops what it cannot read"))
	})
	t.Run("whole", func(t *testing.T) {
		agenttest.Conformance(t, func() agent.Model { return Model(llm, Streaming(false)) }, noPieces...)
	})
}

func newAnthropicServer(t *testing.T) llms.Model {
	srv := agenttest.NewServer(t, func(r *agenttest.WireRequest) agenttest.Wire { return &anthropicWire{collector: newCollector(r)} })
	return anthropicClient(t, srv.URL)
}

func TestConformanceAnthropic(t *testing.T) {
	tier.Normal(t)
	agenttest.CheckLeaks(t)
	llm := newAnthropicServer(t)
	agenttest.Conformance(t, func() agent.Model { return Model(llm) }, slices.Concat(noPieces, anthropicLimits)...)
}

// TestConformanceAnthropicStreaming does not check for leaked goroutines: see
// TestFaultAnthropicLeavesGoroutine.
func TestConformanceAnthropicStreaming(t *testing.T) {
	tier.Normal(t)
	llm := newAnthropicServer(t)
	agenttest.Conformance(t, func() agent.Model { return Model(llm, Streaming(true)) },
		slices.Concat(anthropicLimits, []agenttest.ConformanceOption{agenttest.Skip("text-long-line", "its stream reader takes lines of 64 KiB at most")})...)
}
