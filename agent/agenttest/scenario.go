package agenttest

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/luthier-dev/luthier/agent"
)

// Scenario is one behaviour that every model must get right: requests, the server's answers, and
// the expected result.
type Scenario struct {
	Name      string
	About     string     // the tested behaviour, in one sentence
	Exchanges []Exchange // most scenarios have one

	needs []need
	drive driver // nil means expect
}

// Exchange is one request of a scenario with its answer.
type Exchange struct {
	// Request builds the request from the answers so far. The request contains the exchange's
	// [Marker].
	Request func(answers []*agent.Response) *agent.Request
	Reply   Reply
	// Kinds lists the error kinds of which the model must report one; empty means that the response
	// must match the Reply's events.
	Kinds []agent.ErrorKind
	// KindsOrReply accepts the reply as well as one of Kinds.
	KindsOrReply bool
}

// Missing returns the reason to skip the scenario for a model with these capabilities, or "".
func (s *Scenario) Missing(c agent.Capabilities) string {
	for _, n := range s.needs {
		if !n.have(c) {
			return "the model does not declare " + n.name
		}
	}
	return ""
}

// Marker returns the text by which a server recognises which exchange is requested: "conformance:"
// and the scenario's name, followed by "@2" and so on from the second exchange. The last marker in
// a request's bytes counts, whether in a user message or in a tool result.
func Marker(scenario string, exchange int) string {
	if exchange <= 1 {
		return "conformance:" + scenario
	}
	return fmt.Sprintf("conformance:%s@%d", scenario, exchange)
}

var marker = regexp.MustCompile(`conformance:([a-z0-9-]+)(?:@([0-9]+))?`)

// FindMarker returns the scenario and the exchange (from 1) that a request body asks for.
func FindMarker(body []byte) (scenario string, exchange int, ok bool) {
	all := marker.FindAllSubmatch(body, -1)
	if len(all) == 0 {
		return "", 0, false
	}
	last := all[len(all)-1]
	exchange = 1
	if len(last[2]) > 0 {
		exchange, _ = strconv.Atoi(string(last[2]))
	}
	return string(last[1]), exchange, true
}

// Scenarios returns the suite. The order is fixed.
func Scenarios() []Scenario {
	var all []Scenario
	for _, part := range [][]Scenario{
		textScenarios(), toolScenarios(), finishScenarios(), faultScenarios(), httpScenarios(), thinkingScenarios(),
		requestScenarios(), lifeScenarios(),
	} {
		all = append(all, part...)
	}
	return all
}

// FindScenario returns the scenario of that name.
func FindScenario(name string) (Scenario, bool) {
	for _, s := range Scenarios() {
		if s.Name == name {
			return s, true
		}
	}
	return Scenario{}, false
}

// need is a capability that a scenario depends on.
type need struct {
	name string
	have func(agent.Capabilities) bool
}

var (
	needTools      = need{"Tools", func(c agent.Capabilities) bool { return c.Tools }}
	needStreaming  = need{"StreamingTools", func(c agent.Capabilities) bool { return c.StreamingTools }}
	needParallel   = need{"ParallelTools", func(c agent.Capabilities) bool { return c.ParallelTools }}
	needToolChoice = need{"ToolChoice", func(c agent.Capabilities) bool { return c.ToolChoice }}
	needThinking   = need{"Thinking", func(c agent.Capabilities) bool { return c.Thinking }}
	needReplay     = need{"ThinkingReplay", func(c agent.Capabilities) bool { return c.ThinkingReplay }}
	needRedacted   = need{"RedactedThinking", func(c agent.Capabilities) bool { return c.RedactedThinking }}
	needOpaque     = need{"Opaque", func(c agent.Capabilities) bool { return c.Opaque }}
	needImages     = need{"Images", func(c agent.Capabilities) bool { return c.Images }}
	needImageURLs  = need{"ImageURLs", func(c agent.Capabilities) bool { return c.ImageURLs }}
	needToolImages = need{"ToolImages", func(c agent.Capabilities) bool { return c.ToolImages }}
	needOutput     = need{"StructuredOutput", func(c agent.Capabilities) bool { return c.StructuredOutput }}
	needStop       = need{"Stop", func(c agent.Capabilities) bool { return c.Stop }}
	needUsage      = need{"Usage", func(c agent.Capabilities) bool { return c.Usage }}
	needCache      = need{"CacheUsage", func(c agent.Capabilities) bool { return c.CacheUsage }}
	needCacheWrite = need{"CacheWriteUsage", func(c agent.Capabilities) bool { return c.CacheWriteUsage }}
	needErrors     = need{"TypedErrors", func(c agent.Capabilities) bool { return c.TypedErrors }}
)
