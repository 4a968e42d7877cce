package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router"
)

//go:embed testdata/outcomes.jsonl
var madeUp []byte

// table holds the outcomes of several models on the same tasks.
type table struct {
	names []string // of the models, the cheapest first
	tasks []task
	byID  map[string]task
}

type task struct {
	ID     string             `json:"id"`
	Models map[string]outcome `json:"models"`
}

type outcome struct {
	Resolved bool    `json:"resolved"`
	Cost     float64 `json:"cost"` // dollars of the whole attempt
}

// readTable reads a file of outcomes, or the one that comes with the program if the path is empty.
// It leaves out tasks that not all models tried.
func readTable(path string) (*table, error) {
	data := madeUp
	if path != "" {
		var err error
		if data, err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	t := &table{byID: map[string]task{}}
	cost := map[string]float64{}
	for in := json.NewDecoder(bytes.NewReader(data)); ; {
		var one task
		if err := in.Decode(&one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read task %d of the table: %w", len(t.tasks)+1, err)
		}
		t.tasks, t.byID[one.ID] = append(t.tasks, one), one
		for name, o := range one.Models {
			cost[name] += o.Cost
		}
	}
	for name := range cost {
		t.names = append(t.names, name)
	}
	t.tasks = slices.DeleteFunc(t.tasks, func(one task) bool { return len(one.Models) < len(t.names) })
	if len(t.tasks) < 2 {
		return nil, errors.New("the table needs two tasks or more that all models tried: some to learn from, some to measure")
	}
	slices.SortFunc(t.names, func(a, b string) int { return cmp.Or(cmp.Compare(cost[a], cost[b]), cmp.Compare(a, b)) })
	return t, nil
}

// The answers of the scripted models.
const (
	right = "a patch that passes the tests"
	wrong = "a patch that does not"
)

// members returns a scripted model for each column of the table. Each token costs a millionth of a
// dollar, so a model reports as many tokens as its attempt cost in millionths of a dollar.
func (t *table) members() []router.Member {
	var list []router.Member
	for _, name := range t.names {
		model := agenttest.ScriptFunc(func(req *agent.Request) agenttest.Turn {
			text, o := wrong, t.byID[agent.PartsText(req.Messages[0].Parts)].Models[name]
			if o.Resolved {
				text = right
			}
			return agenttest.Join(agenttest.Text(text), agenttest.Usage(agent.Usage{Output: int64(o.Cost * 1e6)}))
		})
		list = append(list, router.Member{Name: name, Model: model, Price: &agent.Price{Input: 1e6, Output: 1e6}})
	}
	return list
}

// check returns a check that distinguishes right answers from wrong ones, as the tests of a task
// do, but errs in a share of cases.
func (t *table) check(errs float64) router.VerifyFunc {
	random := rand.New(rand.NewPCG(1, 1))
	return func(_ context.Context, _ *agent.Request, resp *agent.Response) (router.Finding, error) {
		passed := agent.PartsText(resp.Message.Parts) == right
		if random.Float64() < errs {
			passed = !passed
		}
		if passed {
			return router.Finding{Verdict: router.Passed}, nil
		}
		return router.Finding{Verdict: router.Rejected, Feedback: "the tests fail"}, nil
	}
}

// trials returns the results of each model on each task, for a router that knows them before it
// begins.
func (t *table) trials(tasks []task) [][]router.Trial {
	var all [][]router.Trial
	for _, one := range tasks {
		var row []router.Trial
		for _, name := range t.names {
			row = append(row, router.Trial{Resolved: one.Models[name].Resolved, Dollars: one.Models[name].Cost})
		}
		all = append(all, row)
	}
	return all
}

type attempts []agent.Routed

// bill sums the outcomes of one task or several.
type bill struct {
	resolved int
	dollars  float64
	attempts attempts
}

func (b *bill) add(one bill) {
	b.resolved += one.resolved
	b.dollars += one.dollars
	b.attempts = append(b.attempts, one.attempts...)
}
