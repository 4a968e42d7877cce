package router_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router"
)

// A cheap model answers first; if the check rejects the answer, a stronger one is asked.
func ExampleCascade() {
	cheap := agenttest.Script(agenttest.Text("2 + 2 = 5"))
	strong := agenttest.Script(agenttest.Text("2 + 2 = 4"))
	c, err := router.NewCascade(router.CascadeConfig{
		Members: []router.Member{{Model: cheap, Name: "cheap"}, {Model: strong, Name: "strong"}},
		Verify: func(_ context.Context, _ *agent.Request, resp *agent.Response) (router.Finding, error) {
			if strings.HasSuffix(resp.Message.Text(), "= 4") {
				return router.Finding{Verdict: router.Passed}, nil
			}
			return router.Finding{Verdict: router.Rejected, Feedback: "The sum is wrong."}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := agent.WithRouteTrace(context.Background(), &agent.RouteTrace{
		Routing: func(r agent.Routing) { fmt.Printf("%s: %s\n", r.Model, r.Reason) },
	})
	resp, err := agent.Generate(ctx, c, &agent.Request{Messages: []agent.Message{agent.UserText("2 + 2?")}})
	fmt.Println(resp.Message.Text(), err)
	// Output:
	// cheap: it is the first choice
	// strong: the attempts so far did not pass; cheap was rejected: The sum is wrong.
	// 2 + 2 = 4 <nil>
}

// Candidates try a whole task, each on a separate copy of the work, until one passes or another
// attempt is not worth its cost.
func ExampleCascadeRuns() {
	odds, err := router.PriorOdds(router.Prior{Resolve: 0.6, Dollars: 0.03}, router.Prior{Resolve: 0.75, Dollars: 0.40})
	if err != nil {
		fmt.Println(err)
		return
	}
	decide, err := router.NewEscalation(router.EscalationConfig{Odds: odds, Worth: 2, Check: router.Check{FalseAccept: 0.05, FalseReject: 0.05}})
	if err != nil {
		fmt.Println(err)
		return
	}
	candidate := func(name, patch string, microDollars int64) router.Candidate[string] {
		return router.Candidate[string]{Name: name, Run: func(_ context.Context, earlier []router.RunAttempt[string]) (router.Ran[string], error) {
			for _, e := range earlier {
				fmt.Printf("%s knows that %s %s: %s\n", name, e.Name, e.Finding.Verdict, e.Finding.Feedback)
			}
			return router.Ran[string]{Value: patch, Digest: patch, MicroDollars: microDollars}, nil
		}}
	}
	res, err := router.CascadeRuns(context.Background(), router.RunsConfig[string]{
		Candidates: []router.Candidate[string]{candidate("small", "return a - b", 30_000), candidate("large", "return a + b", 400_000)},
		Decide:     decide,
		Verify: func(_ context.Context, a *router.RunAttempt[string]) (router.Finding, error) {
			if a.Value == "return a + b" { // a host runs its tests here
				return router.Finding{Verdict: router.Passed}, nil
			}
			return router.Finding{Verdict: router.Rejected, Feedback: "FAIL: TestAdd"}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %q for $%.2f, right with %.0f %%: %s\n", res.Best.Name, res.Best.Value, float64(res.MicroDollars)/1e6, 100*res.Right, res.Why)
	// Output:
	// large knows that small rejected: FAIL: TestAdd
	// large: "return a + b" for $0.43, right with 96 %: an attempt passed
}

// An escalation decides which candidate tries next, from past results of the candidates and the
// verdicts of the check.
func ExampleEscalation() {
	var past [][]router.Trial // of a cheap and a strong candidate
	for range 6 {
		past = append(past, []router.Trial{{Resolved: true, Dollars: 0.03}, {Resolved: true, Dollars: 0.40}})
	}
	for range 3 {
		past = append(past, []router.Trial{{Dollars: 0.04}, {Resolved: true, Dollars: 0.40}})
	}
	past = append(past, []router.Trial{{Dollars: 0.04}, {Dollars: 0.60}})
	odds, err := router.LearnOdds(past)
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := router.NewEscalation(router.EscalationConfig{Odds: odds, Worth: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := e.Next(nil, 0)
	fmt.Println("try", s.Candidate, "because", s.Why)
	s = e.Next([]router.Tried{{Candidate: 0, Verdict: router.Rejected}}, 0.04)
	fmt.Printf("try %d because %s: it solves %.0f %% of such tasks\n", s.Candidate, s.Why, 100*s.Resolve)
	// Output:
	// try 0 because it is the first choice
	// try 1 because another attempt is worth more than it costs: it solves 76 % of such tasks
}
