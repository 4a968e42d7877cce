package coding

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

// TestToolboxIsWhole: every row creates the tool of its name and has its texts in prompts/, and
// every text belongs to a row.
func TestToolboxIsWhole(t *testing.T) {
	w := openWith(t, Config{Index: &fakeIndex{}}, nil)
	w.cfg.Proc.Agent = &agent.Config{Model: modelFunc(nil)}
	files, err := fs.Glob(promptFiles, "prompts/*")
	must(t, err)
	for _, row := range toolbox() {
		tool, err := row.make(w)
		must(t, err)
		if tool == nil {
			t.Errorf("%s: no tool is made", row.name)
			continue
		}
		if got := tool.Spec().Name; got != row.name {
			t.Errorf("the row of %s makes %s", row.name, got)
		}
		for i, name := range row.prompts {
			text := prompt(name)
			if text == "" {
				t.Errorf("%s: prompts/%s is missing or empty", row.name, name)
			}
			if i == 0 && tool.Spec().Description != text {
				t.Errorf("%s is not described by prompts/%s", row.name, name)
			}
			files = slices.DeleteFunc(files, func(f string) bool { return f == "prompts/"+name })
		}
		if len(row.prompts) == 0 && row.name != "read_artifact" {
			t.Errorf("%s has no text in prompts/", row.name)
		}
	}
	if len(files) > 0 {
		t.Errorf("no row has the texts %v", files)
	}
}

// TestToolOrder checks the order in which models are shown the tools: requests begin with it, and
// so do prompt caches.
func TestToolOrder(t *testing.T) {
	want := strings.Fields("read write edit apply_patch list glob grep search repo_map symbols shell shell_output shell_input shell_kill " +
		"read_artifact lint test git todo plan memory ask_user agent")
	if d := cmp.Diff(want, toolNames()); d != "" {
		t.Errorf("the toolbox (-want +got):\n%s", d)
	}
	var sub string
	model := modelFunc(func(_ context.Context, req *agent.Request) []agent.Part {
		sub = toolNamesOf(req)
		return []agent.Part{agent.Text{Text: "done"}}
	})
	w := openWith(t, Config{Index: &fakeIndex{}}, nil)
	w.cfg.Proc.Agent = &agent.Config{Model: model}
	run(t, w, "agent", args{"task": "look", "mode": "work"})
	if d := cmp.Diff("read write edit apply_patch list glob grep search repo_map symbols todo memory ask_user "+
		"shell shell_output shell_input shell_kill lint test git plan read_artifact", sub); d != "" {
		t.Errorf("a sub-agent (-want +got):\n%s", d)
	}
}
