package luthier

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/coding"
)

// farTools returns the tools of an agent over a workspace on another machine: those that run there,
// and among them, in their usual places, those that belong to the session. work, which has the
// latter, is nil if there are none.
func (h *farHost) farTools(state string, cfg coding.Config) (work *coding.Workspace, list []agent.Tool, err error) {
	chosen, without := cfg.Only, cfg.Without
	offers := func(name string) bool {
		return (len(chosen) == 0 || slices.Contains(chosen, name)) && !slices.Contains(without, name)
	}
	dir := filepath.Join(state, "none") // these tools use no files
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	all, err := coding.Open(dir, coding.Config{Only: cfg.Only, Without: cfg.Without}) // checks the names
	if err == nil {
		err = all.Close()
	}
	if err != nil {
		return nil, nil, err
	}
	var only []string
	for _, name := range atClient {
		if offers(name) {
			only = append(only, name)
		}
	}
	mine := map[string]agent.Tool{}
	var order []string
	if len(only) > 0 {
		cfg.Only, cfg.Without, cfg.Index, cfg.Proc.Sandbox = only, nil, nil, nil
		if work, err = coding.Open(dir, cfg); err != nil {
			return nil, nil, err
		}
		own, err := work.Tools()
		if err != nil {
			return work, nil, err
		}
		for _, t := range own {
			name := t.Spec().Name
			mine[name], order = t, append(order, name)
		}
	}
	for _, s := range h.on.specs.Tools {
		switch {
		case s.AtClient:
			if t := mine[s.Name]; t != nil {
				list = append(list, t)
				delete(mine, s.Name)
			}
		case offers(s.Name) || s.Extra:
			list = append(list, &forwarded{host: h, far: s, spec: agent.ToolSpec{Name: s.Name, Description: s.Description, Schema: s.Schema,
				Effects: agent.Effects(s.Effects), Timeout: s.Timeout}})
		}
	}
	for _, name := range order {
		if t := mine[name]; t != nil {
			list = append(list, t)
		}
	}
	return work, list, nil
}
