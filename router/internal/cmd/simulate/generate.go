package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
)

// madeUp holds the models of a made-up table: the ability of each, and the cost of an attempt.
var madeUp = []struct {
	name    string
	ability float64 // log-odds of solving a task of middle difficulty
	dollars float64 // cost of the median attempt
	calls   int
}{
	{"small", 0.4, 0.03, 13},
	{"middle", 0.7, 0.20, 20},
	{"large", 1.2, 0.40, 35},
	{"other", 1.0, 0.35, 30},
}

// made writes a made-up table. A task has a hidden difficulty that affects all models. It affects
// the last one less than the others, like a model by another maker. Each model also has independent
// luck. Costs vary by a log-normal factor and are a third higher for failures.
func made(w io.Writer, tasks int, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 231))
	out := bufio.NewWriter(w)
	for i := range tasks {
		difficulty := r.NormFloat64()
		models := map[string]any{}
		for j, m := range madeUp {
			feels := 2.5
			if j == len(madeUp)-1 {
				feels = 0.8
			}
			resolved := r.Float64() < 1/(1+math.Exp(feels*difficulty-m.ability))
			factor := math.Exp(0.5 * r.NormFloat64())
			if !resolved {
				factor *= 4.0 / 3
			}
			models[m.name] = map[string]any{"resolved": resolved, "cost": math.Round(m.dollars*factor*1e5) / 1e5, "api_calls": 1 + int(float64(m.calls)*factor)}
		}
		line, err := json.Marshal(map[string]any{"id": fmt.Sprintf("task-%03d", i+1), "models": models})
		if err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}
