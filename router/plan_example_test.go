package router_test

import (
	"context"
	"fmt"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router"
	"github.com/luthier-dev/luthier/tools"
)

// A strong model plans, and a fast one carries the plan out in the loop.
func ExamplePlanThenAct() {
	strong := agenttest.Script(agenttest.Text("<plan steps=\"2\">\n1. Greet the world.\n</plan>"))
	fast := agenttest.Script(agenttest.Call("1", "greet", `{"name":"world"}`), agenttest.Text("Done."))
	model, err := router.NewPlanThenAct(router.PlanConfig{
		Planner: router.Member{Model: strong, Name: "strong"},
		Actor:   router.Member{Model: fast, Name: "fast"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	type in struct {
		Name string `json:"name"`
	}
	greet, err := tools.New("greet", "Greets.", func(_ context.Context, v in) (string, error) { return "Hello, " + v.Name, nil })
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := agent.New(agent.Config{Model: model, Tools: []agent.Tool{greet}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range a.Run(context.Background(), agent.NewSession(), agent.Text{Text: "Greet the world."}) {
		if err != nil {
			fmt.Println(err)
		}
		switch ev := ev.(type) {
		case agent.Routing:
			fmt.Printf("%s: %s\n", ev.Model, ev.Reason)
		case agent.CallDone:
			fmt.Println(ev.Result.Text())
		case agent.Done:
			fmt.Println(ev.Result.Text())
		}
	}
	// Output:
	// strong: there is no plan yet
	// fast: carries out plan 1
	// Hello, world
	// fast: carries out plan 1
	// Done.
}
