package router_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router"
)

// A run continues when a provider is down, and its events report the attempts and their costs.
func ExampleFallback() {
	down := agenttest.Script(agenttest.Error(&agent.ModelError{Kind: agent.ErrOverloaded, Err: errors.New("come back later")})).Loop()
	up := agenttest.Script(agenttest.Join(agenttest.Text("Done."), agenttest.Usage(agent.Usage{Input: 1000, Output: 10})))
	m, err := router.NewFallback(router.FallbackConfig{Members: []router.Member{
		{Model: down, Name: "claude-sonnet-4-5"}, // its price is looked up by its name
		{Model: up, Name: "own server", Price: &agent.Price{Input: 1_000_000, Output: 2_000_000}},
	}})
	if err != nil {
		panic(err)
	}
	a, err := agent.New(agent.Config{Model: m, Limits: agent.Limits{MicroDollars: 500_000}})
	if err != nil {
		panic(err)
	}
	for ev, err := range a.Run(context.Background(), agent.NewSession(), agent.Text{Text: "Fix the build."}) {
		switch ev := ev.(type) {
		case agent.Routing:
			fmt.Printf("%s asks %s: %s\n", ev.Router, ev.Model, ev.Reason)
		case agent.Routed:
			fmt.Printf("%s: kept %v, %d micro-dollars, %v\n", ev.Model, ev.Kept, ev.MicroDollars, ev.Err)
		case agent.Done:
			fmt.Println(ev.Result.Text(), ev.Result.MicroDollars, err)
		}
	}
	// Output:
	// fallback asks claude-sonnet-4-5: first choice
	// claude-sonnet-4-5: kept false, 0 micro-dollars, model: overloaded: come back later
	// fallback asks own server: after claude-sonnet-4-5: overloaded
	// own server: kept true, 1020 micro-dollars, <nil>
	// Done. 1020 <nil>
}

// The first request is slow to begin, so a second one is sent and wins; the first is cancelled.
func ExampleHedge() {
	answer := agenttest.Text("Here.")
	m, err := router.NewHedge(router.HedgeConfig{
		Members: []router.Member{
			{Model: agenttest.Script(agenttest.Hang()), Name: "east", Price: &agent.Price{}},
			{Model: agenttest.Script(answer), Name: "west", Price: &agent.Price{}},
		},
		Delay:    10 * time.Millisecond, // if omitted, it is learned: the 95th percentile of the times until answers begin
		MaxExtra: 1,                     // share of requests that may be doubled; if omitted, 5 %
	})
	if err != nil {
		panic(err)
	}
	ctx := agent.WithRouteTrace(context.Background(), &agent.RouteTrace{Routed: func(r agent.Routed) { fmt.Println(r.Model, "kept:", r.Kept) }})
	resp, err := agent.Generate(ctx, m, &agent.Request{Messages: []agent.Message{agent.UserText("Where are you?")}})
	fmt.Println(resp.Message.Text(), err)
	// Unordered output:
	// east kept: false
	// west kept: true
	// Here. <nil>
}

// A conversation stays with one endpoint, whose prompt cache holds it.
func ExampleRoundRobin() {
	endpoint := func(name string) router.Member {
		return router.Member{Model: agenttest.Script(agenttest.Text(name)).Loop(), Name: name}
	}
	m, err := router.NewRoundRobin(router.BalanceConfig{Members: []router.Member{endpoint("east"), endpoint("north"), endpoint("west")}})
	if err != nil {
		panic(err)
	}
	for _, session := range []string{"one", "two", "one", "two", "", "", ""} { // requests without a session take turns
		resp, err := agent.Generate(context.Background(), m, &agent.Request{SessionID: session, Messages: []agent.Message{agent.UserText("hello")}})
		if err != nil {
			panic(err)
		}
		fmt.Print(resp.Message.Text(), " ")
	}
	// Output: east north east north east north west
}

// A provider that is down is not called for a while, and then only as often as the breaker allows.
func ExampleBreaker() {
	down := agenttest.Script(agenttest.Error(&agent.ModelError{Kind: agent.ErrServer, Err: errors.New("down")})).Loop()
	limited, err := router.NewRateLimit(router.RateLimitConfig{Model: down, Requests: 50, Tokens: 40_000})
	if err != nil {
		panic(err)
	}
	m, err := router.NewBreaker(router.BreakerConfig{Model: limited, Failures: 2, Open: time.Minute})
	if err != nil {
		panic(err)
	}
	for range 3 {
		_, err := agent.Generate(context.Background(), m, &agent.Request{Messages: []agent.Message{agent.UserText("hello")}})
		fmt.Println(agent.AsModelError(err).Kind, m.State(), down.Calls())
	}
	// Output:
	// server closed 1
	// server open 2
	// overloaded open 2
}
