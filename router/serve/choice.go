package serve

import (
	"context"
	"sync"

	"github.com/luthier-dev/luthier/agent"
)

// choice is one of the n answers to a request, from one call of the model.
type choice struct {
	index    int
	logProbs bool
	top      int  // alternatives of each token
	named    bool // the role was sent
	usage    agent.Usage

	mu     sync.Mutex
	tokens []map[string]any // not yet sent
}

// choices returns the n choices that the body asks for.
func (in *chatRequest) choices() []*choice {
	n := 1
	if in.N != nil {
		n = *in.N
	}
	all := make([]*choice, n)
	for i := range all {
		all[i] = &choice{index: i, logProbs: in.LogProbs, top: in.TopLogProbs}
	}
	return all
}

// each calls do for each choice. The first place of the request is taken already; choices run at
// once if further places are free, and after each other if not.
func (s *Server) each(all []*choice, do func(*choice)) {
	next := make(chan *choice, len(all))
	for _, c := range all {
		next <- c
	}
	close(next)
	work := func() {
		for c := range next {
			do(c)
		}
	}
	var others sync.WaitGroup
	for range len(all) - 1 {
		leave, ok := s.gate.try()
		if !ok {
			break
		}
		others.Go(func() {
			defer leave()
			work()
		})
	}
	work()
	others.Wait()
}

// request returns the request of c's call. A seed is different in each choice, since equal seeds
// would give equal answers.
func (c *choice) request(req *agent.Request) *agent.Request {
	own := *req
	if req.Seed != nil {
		seed := *req.Seed + int64(c.index)
		own.Seed = &seed
	}
	return &own
}

// traced returns a context that reports c's tokens, if the client wants them.
func (c *choice) traced(ctx context.Context) context.Context {
	if !c.logProbs {
		return ctx
	}
	return agent.WithTokenTrace(ctx, &agent.TokenTrace{Top: c.top, Token: c.token})
}

// token stores a token for the next chunk.
func (c *choice) token(t agent.Token) {
	top := make([]map[string]any, 0, len(t.Top))
	for _, o := range t.Top {
		top = append(top, tokenObject(o.Text, o.ID, o.LogProb))
	}
	o := tokenObject(t.Text, t.ID, t.LogProb)
	o["top_logprobs"] = top
	c.mu.Lock()
	c.tokens = append(c.tokens, o)
	c.mu.Unlock()
}

func tokenObject(text string, id int32, p float64) map[string]any {
	b := make([]int, len(text))
	for i := range len(text) {
		b[i] = int(text[i])
	}
	return map[string]any{"token": text, "id": id, "logprob": p, "bytes": b}
}

// takeTokens returns the tokens since the last call as the API's logprobs object, or nil if none
// were requested.
func (c *choice) takeTokens() any {
	if !c.logProbs {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tokens) == 0 {
		return nil
	}
	list := c.tokens
	c.tokens = nil
	return map[string]any{"content": list}
}
