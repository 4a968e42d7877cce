package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"golang.org/x/term"

	"github.com/luthier-dev/luthier/examples/fix/internal/adapt"
	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// display shows the progress of a repair, for people or as JSON lines.
type display struct {
	w       io.Writer
	json    bool
	color   bool
	refused int // edits in a row that were refused
}

// shownRefusals is the number of refused edits in a row that are shown, one line each. There may be
// hundreds of them.
const shownRefusals = 3

// fold reports whether a step is a refused edit that is not shown, because enough were shown before
// it. Before any other step, it prints the number of refused edits that were not shown.
func (d *display) fold(refused bool) bool {
	if refused {
		d.refused++
		return d.refused > shownRefusals
	}
	if n := d.refused - shownRefusals; n > 0 {
		d.printf("                     %s\n", d.paint(dim, fmt.Sprintf("… %d more edits refused", n)))
	}
	d.refused = 0
	return false
}

func newDisplay(f *os.File, json bool) *display {
	return &display{w: f, json: json, color: !json && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(f.Fd()))}
}

const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
	cyan  = "36"
)

func (d *display) paint(color, s string) string {
	if !d.color {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}

func (d *display) printf(format string, args ...any) {
	if !d.json {
		fmt.Fprintf(d.w, format, args...)
	}
}

// emit prints an object if the output is JSON.
func (d *display) emit(kind string, fields map[string]any) {
	if !d.json {
		return
	}
	fields["event"] = kind
	if data, err := json.Marshal(fields); err == nil {
		fmt.Fprintf(d.w, "%s\n", data)
	}
}

func (d *display) problem(err error) {
	if d.json {
		d.emit("error", map[string]any{"error": err.Error()})
		return
	}
	fmt.Fprintln(os.Stderr, "fix:", err)
}

func seconds(t time.Duration) string { return fmt.Sprintf("%6.1fs", t.Seconds()) }

func (d *display) begin(o options, m *harness.Module) {
	name := "the embedded model"
	if o.model != "" {
		name = filepath.Base(o.model)
	}
	d.printf("%s %s in %s with %s, tests isolated by: %s\n", d.paint(bold, "fix"), m.Path, m.Root, name, m.Isolation().Tier)
	d.emit("begin", map[string]any{"module": m.Path, "root": m.Root, "isolation": m.Isolation().Tier.String()})
}

func (d *display) found(m *harness.Module, f *harness.Finding, took time.Duration) {
	d.printf("%s  %d of %d tests of %s fail: %s\n", seconds(took), len(f.Failed), m.Tests, m.Package, strings.Join(f.Failed, " "))
	for _, l := range strings.Split(repair.Digest(f.Output, repair.DigestBudget), "\n") {
		d.printf("         %s\n", d.paint(dim, l))
	}
	if len(m.Generated) > 0 {
		d.printf("         generated code is left alone: %s\n", strings.Join(m.Generated, ", "))
	}
	d.emit("found", map[string]any{"package": m.Package, "failed": f.Failed, "tests": m.Tests, "generated": m.Generated, "candidates": len(f.Ranked)})
}

// step shows a decision of the model and its result.
func (d *display) step(s harness.Step) {
	what := d.paint(cyan, s.Tool)
	var args struct {
		Number, Line int
		Text         string
	}
	_ = json.Unmarshal(s.Args, &args) // arguments that cannot be read are not shown
	result, _, _ := strings.Cut(s.Result, "\n")
	switch s.Tool {
	case "":
		what, result = d.paint(cyan, "says")+" "+s.Result, ""
	case repair.ToolRead:
		what += fmt.Sprintf(" %d  %s", args.Number, s.Function)
		if !s.Failed {
			result = fmt.Sprintf("%d lines", strings.Count(s.Result, "\n"))
		}
	case repair.ToolEdit:
		what += fmt.Sprintf(" %s:%d  %s", s.Function, args.Line, d.paint(bold, args.Text))
	}
	switch {
	case result == repair.ResultOK:
		result = d.paint(green, "all tests pass")
	case s.Failed:
		result = d.paint(red, result)
	}
	likely := "    "
	if s.Probability > 0 {
		likely = fmt.Sprintf("%3.0f%%", 100*s.Probability)
	}
	if result != "" {
		result = "  → " + result
	}
	if !d.fold(s.Tool == repair.ToolEdit && s.Failed) {
		d.printf("%s  %2d  %s  %s%s\n", seconds(s.Thought+s.Took), s.N, d.paint(dim, likely), what, result)
	}
	d.emit("step", map[string]any{"n": s.N, "tool": s.Tool, "args": s.Args, "function": s.Function, "result": s.Result,
		"probability": s.Probability, "thought_s": s.Thought.Seconds(), "took_s": s.Took.Seconds()})
}

// learning shows on a terminal how far the model has learned the module.
func (d *display) learning(done float64) {
	if d.color {
		d.fold(false)
		d.printf("\r         learning the module's own code %3.0f%%", 100*done)
	}
}

// learned shows a summary of the training on the module.
func (d *display) learned(l *adapt.Learned) {
	if d.color {
		d.printf("\r\x1b[K")
	}
	d.fold(false)
	d.printf("%s  learnt from %d functions of the module: %d faults made up and mended\n", seconds(l.Took), l.Functions, l.Examples)
	d.emit("learnt", map[string]any{"functions": l.Functions, "examples": l.Examples, "tokens": l.Tokens, "took_s": l.Took.Seconds()})
}

func unified(e *harness.Edit) string {
	file := e.Function.File
	plain := func(b []byte) string { return strings.ReplaceAll(string(b), "\r\n", "\n") }
	return udiff.Unified("a/"+file, "b/"+file, plain(e.Before), plain(e.After))
}

func (d *display) diff(e *harness.Edit) {
	text := unified(e)
	d.printf("\n")
	for l := range strings.Lines(text) {
		switch l = strings.TrimSuffix(l, "\n"); {
		case strings.HasPrefix(l, "---"), strings.HasPrefix(l, "+++"):
			l = d.paint(bold, l)
		case strings.HasPrefix(l, "@@"):
			l = d.paint(cyan, l)
		case strings.HasPrefix(l, "-"):
			l = d.paint(red, l)
		case strings.HasPrefix(l, "+"):
			l = d.paint(green, l)
		}
		d.printf("%s\n", l)
	}
	d.emit("diff", map[string]any{"diff": text, "file": e.Function.File, "line": e.Function.Start + e.Line - 1, "old": e.Old, "new": e.New})
}

func (d *display) end(o options, m *harness.Module, r *harness.Result, took time.Duration) {
	d.fold(false)
	rate := 0.0
	if r.Thought > 0 {
		rate = float64(r.Usage.Output) / r.Thought.Seconds()
	}
	verdict := d.paint(red, "not fixed") + ": " + r.Why + "; the module is as it was"
	switch {
	case r.Fixed != nil && o.keep:
		verdict = d.paint(green, "fixed") + ", as the change above would; " + m.Root + " is as it was"
	case r.Fixed != nil:
		verdict = d.paint(green, "fixed")
	}
	d.printf("\n%s (%d edits tested, %d refused, %d test runs, %.0f tokens/s of answer, %.1fs)\n", verdict, len(r.Edits), r.Refused, m.Runs, rate, took.Seconds())
	if r.Fixed != nil && len(m.Others) > 0 {
		d.printf("other packages fail still, as they did before: %s\n", strings.Join(m.Others, ", "))
	}
	d.emit("end", map[string]any{"fixed": r.Fixed != nil, "why": r.Why, "edits": len(r.Edits), "refused": r.Refused, "test_runs": m.Runs,
		"calls": r.Calls, "invalid": r.Invalid, "tokens": r.Usage.Output, "tokens_per_s": rate, "seconds": took.Seconds(), "others": m.Others})
}
