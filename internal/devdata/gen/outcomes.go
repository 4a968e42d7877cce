package main

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// outcomes returns a table of the results of five made-up models on made-up tasks: a better model
// costs more, and each task has one difficulty for all models.
func outcomes() map[string][]byte {
	r := rand.New(rand.NewPCG(11, 11))
	models := []struct {
		name           string
		skill, dollars float64
	}{{"large", 0.9, 0.45}, {"middle", 0.7, 0.2}, {"other", 0.65, 0.22}, {"small", 0.3, 0.05}, {"tiny", 0, 0.02}}
	things := []string{"kettle", "tray", "cup", "teapot", "spoon", "shelf"}
	faults := []string{"leaks when it is full", "is counted twice", "forgets its size", "cannot be moved on a Sunday", "raises KeyError for an empty name"}
	var out []byte
	for i := range 120 {
		difficulty := float64(0.8 * r.NormFloat64())
		out = fmt.Appendf(out, `{"id": "made__tea-%03d", "repo": "tea", "problem": "The %s %s", "models": {`, i+1, things[r.IntN(len(things))], faults[r.IntN(len(faults))])
		for k, m := range models {
			if k > 0 {
				out = append(out, ", "...)
			}
			solved := m.skill+float64(1.2*r.NormFloat64()) > difficulty
			dollars := m.dollars * math.Exp(float64(0.3*r.NormFloat64())+0.2*difficulty)
			out = fmt.Appendf(out, `%q: {"resolved": %v, "cost": %.4f, "api_calls": %d}`, m.name, solved, dollars, 10+r.IntN(40))
		}
		out = append(out, "}}\n"...)
	}
	return map[string][]byte{"router-dev/swebench-verified-django.jsonl": out}
}
