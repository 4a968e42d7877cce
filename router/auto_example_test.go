package router_test

import (
	"context"
	"fmt"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router"
)

// A pool behind one model: when the model of a conversation fails and the host reports it, the next
// request goes to another.
func ExampleAuto() {
	small := agenttest.Script(agenttest.Text("small")).Loop()
	large := agenttest.Script(agenttest.Text("large")).Loop()
	auto, err := router.NewAuto(router.AutoConfig{
		Members: []router.Member{
			{Model: small, Name: "small", Price: &agent.Price{Input: 250_000, Output: 2_000_000}},
			{Model: large, Name: "large", Price: &agent.Price{Input: 3_000_000, Output: 15_000_000}},
		},
		Random: func() float64 { return 0.5 }, // reproducible; leave it out in a program
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &agent.Request{SessionID: "s1", Purpose: agent.PurposeAct, Messages: []agent.Message{agent.UserText("Mend the parser.")}}
	ctx := agent.WithRouteTrace(context.Background(), &agent.RouteTrace{
		Routing: func(r agent.Routing) { fmt.Printf("%s, because %s\n", r.Model, r.Reason) },
	})
	for _, good := range []float64{0, 1} { // the tests fail, then they pass
		if _, err := agent.Generate(ctx, auto, req); err != nil {
			fmt.Println(err)
		}
		if err := auto.Outcome(ctx, "s1", good); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// small, because act, about 4 tokens; small 50 % (drawn 50) for $0.0948; large 70 % (drawn 81) for $1.0652
	// large, because act, about 4 tokens, failed 1; small failed; large 70 % (drawn 81) for $1.0652; not small: it failed before
}
