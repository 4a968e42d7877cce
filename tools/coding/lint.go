package coding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools"
	"github.com/luthier-dev/luthier/tools/coding/internal/gitview"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
	"github.com/luthier-dev/luthier/tools/coding/internal/testreport"
)

type lintIn struct {
	Paths   []string `json:"paths,omitempty" jsonschema_description:"files or directories to check, relative to the workspace; default: the files that git reports as changed"`
	Linters []string `json:"linters,omitempty" jsonschema_description:"only these, by the names the tool reports, such as go vet or ruff"`
}

func (w *Workspace) lintTool() (agent.Tool, error) {
	runs := agent.Effects{Flags: agent.EffectExec, Reasons: []string{"compilers and linters run code of the project, such as build scripts and configuration files"}}
	return newTool("lint", w.lint, toolParts[lintIn]{
		any:     runs,
		effects: func(lintIn) agent.Effects { return runs },
		describe: func(in lintIn) agent.CallDescription {
			what := strings.Join(in.Paths, ", ")
			if what == "" {
				what = "changed files"
			}
			return w.place(agent.CallDescription{Title: "lint: " + show.Line(what, 120)}, "")
		},
		opts: []tools.Option{tools.WithTimeout(-1)},
	})
}

// lintOutcome is the outcome of one linter.
type lintOutcome struct {
	run    lintRun
	found  []testreport.Diagnostic
	failed string // why nothing can be said about the files; "" if the linter did its work
	wall   time.Duration
}

func (w *Workspace) lint(ctx context.Context, in lintIn) (string, error) {
	plan, err := viewing(ctx, w, in, opened.lintPlan)
	if err != nil {
		return "", err
	}
	files, runs := plan.files, plan.runs
	if len(files) == 0 {
		return "Nothing was checked: no file has changed since the last commit. Pass paths to check others.", nil
	}
	if len(runs) == 0 {
		return fmt.Sprintf("Nothing was checked: no linter is known for %s. Run the project's own checks with shell.", joinSome(files, 10)), nil
	}
	sb, err := w.runner()
	if err != nil {
		return "", err
	}
	var outs []lintOutcome
	for _, r := range runs {
		outs = append(outs, w.runLinter(ctx, r, sb.Dir()))
		if err := ctx.Err(); err != nil {
			return "", fmt.Errorf("stopped: %w", context.Cause(ctx))
		}
	}
	return renderLint(outs, files, plan.whence), nil
}

// lintPlan holds what a call will check, and how.
type lintPlan struct {
	files  []string
	whence string // what the files are, if the call does not name them
	runs   []lintRun
}

func (w opened) lintPlan(ctx context.Context, in lintIn) (lintPlan, error) {
	files, whence, err := w.lintPaths(ctx, in.Paths)
	if err != nil || len(files) == 0 {
		return lintPlan{}, err
	}
	return lintPlan{files, whence, w.planLint(files, in.Linters)}, nil
}

// lintPaths returns the paths to check: the given ones, or the changed files, or everything if the
// changes cannot be determined.
func (w opened) lintPaths(ctx context.Context, given []string) (paths []string, whence string, err error) {
	if paths, err = w.existing(ctx, given); len(paths) > 0 || err != nil {
		return paths, "", err
	}
	changed, err := w.changedFiles(ctx)
	if errors.Is(err, gitview.ErrNoRepo) {
		return []string{"."}, "whole workspace, which is no git repository", nil
	}
	return changed, "changed files", err
}

func (w *Workspace) runLinter(ctx context.Context, r lintRun, root string) lintOutcome {
	log := newProcLog(2*shownTail, w.cfg.Proc.SpillBytes)
	defer log.close()
	o := lintOutcome{run: r}
	exit, err := w.exec(ctx, program{
		Args: r.Args, Dir: r.Dir, Timeout: w.cfg.Proc.LintTimeout, Merge: r.Merge, LogStdout: r.Merge,
		Env: []string{"FORCE_COLOR=0", "CARGO_TERM_COLOR=never"},
		Read: func(out io.Reader) (err error) {
			o.found, err = r.parse(out, testreport.Paths{Root: root, Dir: r.Dir})
			return err
		},
	}, log)
	switch {
	case errors.Is(err, errAbsent):
		o.failed = "not installed (" + r.hint + ")"
	case err != nil:
		o.failed = err.Error()
	case exit.TimedOut:
		o.failed = fmt.Sprintf("killed after its limit of %s", roundTime(w.cfg.Proc.LintTimeout))
	case exit.Code != 0 && (len(o.found) == 0 || exit.Signal != 0 || len(r.found) > 0 && !slices.Contains(r.found, exit.Code)):
		o.failed = strings.TrimSpace(fmt.Sprintf("failed with %s: %s", exit, log.end(1500)))
	}
	if exit != nil {
		o.wall = exit.Wall
	}
	return o
}

// shownDiagnostics is the maximum number of findings in a report.
const shownDiagnostics = 150

// renderLint writes the report. Only files that a linter really checked are called clean.
func renderLint(outs []lintOutcome, files []string, whence string) string {
	var all []testreport.Diagnostic
	ran, errs := 0, 0
	for _, o := range outs {
		all = append(all, o.found...)
		if o.failed == "" {
			ran++
		}
	}
	for _, d := range all {
		if d.Severity == "error" {
			errs++
		}
	}
	asked := func(d testreport.Diagnostic) bool {
		return slices.ContainsFunc(files, func(f string) bool { return agent.PathUnder(d.Path, f) })
	}
	slices.SortStableFunc(all, func(a, b testreport.Diagnostic) int { return lintRank(a, asked(a)) - lintRank(b, asked(b)) })
	var b strings.Builder
	switch {
	case ran == 0 && len(all) == 0:
		b.WriteString("NOT CHECKED: no linter could do its work.")
	case len(all) == 0 && ran == len(outs):
		b.WriteString("No findings.")
	case len(all) == 0:
		b.WriteString("No findings by those that ran; others did not (see below).")
	default:
		fmt.Fprintf(&b, "%d findings, %d of them errors:", len(all), errs)
	}
	if whence != "" {
		b.WriteString(" (" + whence + ")")
	}
	b.WriteString("\n")
	for i, d := range all {
		if i == shownDiagnostics {
			fmt.Fprintf(&b, "... and %d more; pass fewer paths to see them\n", len(all)-i)
			break
		}
		b.WriteString(show.Ends(d.String(), 1000) + "\n")
	}
	b.WriteString("\nLinters:\n")
	for _, o := range outs {
		state := o.failed
		if state == "" {
			state = fmt.Sprintf("%d findings in %s", len(o.found), roundTime(o.wall))
		}
		at := ""
		if o.run.Dir != "." {
			at = " in " + o.run.Dir
		}
		fmt.Fprintf(&b, "- %s%s: %s\n", o.run.Linter, at, state)
	}
	return strings.TrimRight(b.String(), "\n")
}

// lintRank ranks errors before warnings, and the files that were asked about before others.
func lintRank(d testreport.Diagnostic, asked bool) int {
	rank := 0
	if d.Severity != "error" && d.Severity != "" {
		rank++
	}
	if !asked {
		rank += 2
	}
	return rank
}

func joinSome(list []string, max int) string {
	if len(list) > max {
		return strings.Join(list[:max], ", ") + fmt.Sprintf(" and %d more", len(list)-max)
	}
	return strings.Join(list, ", ")
}
