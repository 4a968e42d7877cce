package coding

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

// A toolRow is one coding tool: its name, its constructor, and its texts for the model.
type toolRow struct {
	name string
	// make returns nil for a tool that the workspace's Config cannot offer.
	make func(*Workspace) (agent.Tool, error)
	// prompts are files in prompts/. The first describes the tool; the tool uses the others in its
	// own way.
	prompts []string
}

// toolbox lists the coding tools in the order in which a model is shown them. To add a tool, write
// a file NAME.go with its constructor and a text prompts/NAME.md, and add a row here. The order is
// part of every prompt: a row inserted in the middle invalidates the prompt caches of running
// sessions.
func toolbox() []toolRow {
	return []toolRow{
		{"read", (*Workspace).readTool, []string{"read.md"}},
		{"write", (*Workspace).writeTool, []string{"write.md"}},
		{"edit", (*Workspace).editTool, []string{"edit.md"}},
		{"apply_patch", (*Workspace).patchTool, []string{"apply_patch.md"}},
		{"list", (*Workspace).listTool, []string{"list.md"}},
		{"glob", (*Workspace).globTool, []string{"glob.md"}},
		{"grep", (*Workspace).grepTool, []string{"grep.md"}},
		{"search", (*Workspace).searchTool, []string{"search.md"}},
		{"repo_map", (*Workspace).mapTool, []string{"repo_map.md"}},
		{"symbols", (*Workspace).symbolsTool, []string{"symbols.md"}},
		{"shell", (*Workspace).shellTool, []string{"shell.md"}},
		{"shell_output", (*Workspace).shellOutputTool, []string{"shell_output.md"}},
		{"shell_input", (*Workspace).shellInputTool, []string{"shell_input.md"}},
		{"shell_kill", (*Workspace).shellKillTool, []string{"shell_kill.md"}},
		{"read_artifact", (*Workspace).readArtifactTool, nil}, // package tools describes it
		{"lint", (*Workspace).lintTool, []string{"lint.md"}},
		{"test", (*Workspace).testTool, []string{"test.md"}},
		{"git", (*Workspace).gitTool, []string{"git.md"}},
		{"todo", (*Workspace).todoTool, []string{"todo.md"}},
		{"plan", (*Workspace).planTool, []string{"plan.md"}},
		{"memory", (*Workspace).memoryTool, []string{"memory.md"}},
		{"ask_user", (*Workspace).askTool, []string{"ask_user.md"}},
		{"agent", (*Workspace).agentTool, []string{"agent.md", "agent_explore.md", "agent_work.md"}},
	}
}

// toolNames returns the names of all tools, in order.
func toolNames() []string {
	var names []string
	for _, row := range toolbox() {
		names = append(names, row.name)
	}
	return names
}

// Tools returns the tools that the Config selects, in a fixed order.
func (w *Workspace) Tools() ([]agent.Tool, error) {
	ts, err := w.makeTools(toolbox())
	if err != nil {
		return nil, fmt.Errorf("coding: make tools: %w", err)
	}
	return ts, nil
}

// makeTools creates the tools of the rows that the Config selects.
func (w *Workspace) makeTools(rows []toolRow) ([]agent.Tool, error) {
	var out []agent.Tool
	for _, row := range rows {
		if !w.offers(row.name) {
			continue
		}
		t, err := row.make(w)
		if err != nil {
			return nil, err
		}
		if t != nil {
			out = append(out, t)
		}
	}
	return out, nil
}

// offers reports whether the Config selects the tool.
func (w *Workspace) offers(name string) bool {
	return (len(w.cfg.Only) == 0 || slices.Contains(w.cfg.Only, name)) && !slices.Contains(w.cfg.Without, name)
}

// description returns the text that describes a tool to the model, or "" for a tool without a row.
func description(tool string) string {
	for _, row := range toolbox() {
		if row.name == tool && len(row.prompts) > 0 {
			return prompt(row.prompts[0])
		}
	}
	return ""
}

//go:embed prompts/*.md
var promptFiles embed.FS

// prompt returns the text of a file in prompts/. If the file is missing, the text is empty; a test
// reports such a mistake in this package.
func prompt(file string) string {
	text, err := promptFiles.ReadFile("prompts/" + file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
