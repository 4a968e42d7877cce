package testreport

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

const (
	shownFailures = 25       // failures reported with their messages
	shownNames    = 100      // further failures reported by name
	shownMessage  = 1500     // bytes of one message
	shownReport   = 24 << 10 // approximate bytes of the whole report
)

// Outcome holds how the runner itself ended.
type Outcome struct {
	Framework string // such as "go test"
	Command   string
	ExitCode  int
	Ended     string // "" if the runner ended by itself; otherwise how it ended, such as "killed after 10m0s"
	Wall      time.Duration
	Tail      string // the end of the runner's output, for when the report alone does not explain the failure
	Log       string // where the full log is
}

// verdict returns the first word of a report. Only a run that ended well and ran at least one test
// passes.
func (r *Report) verdict(o Outcome) string {
	switch {
	case o.Ended != "":
		return "STOPPED"
	case r.Failed > 0 || r.Errors > 0 || len(r.Build) > 0:
		return "FAIL"
	case o.ExitCode == 0 && r.ran() > 0 && r.Complete:
		return "PASS"
	case r.Complete && r.ran() == 0:
		return "NO TESTS RAN"
	}
	return "FAIL"
}

// explained reports whether the report contains a reason for its verdict.
func (r *Report) explained() bool {
	return len(r.Build) > 0 || slices.ContainsFunc(r.Failures, func(f Failure) bool { return f.Message != "" && f.Message != buildFailed })
}

// buildFailed is the message of a suite whose compile errors are reported elsewhere.
const buildFailed = "build failed"

// Render returns the report as text for a model.
func (r *Report) Render(o Outcome) string {
	var b strings.Builder
	verdict := r.verdict(o)
	fmt.Fprintf(&b, "%s: %s", verdict, r.counts())
	if o.Wall > 0 {
		fmt.Fprintf(&b, " in %s", o.Wall.Round(10*time.Millisecond))
	}
	fmt.Fprintf(&b, " (%s)\n", o.Framework)
	if o.Ended != "" {
		fmt.Fprintf(&b, "The run was %s; what follows is what it had reported by then.\n", o.Ended)
	}
	if o.Command != "" {
		fmt.Fprintf(&b, "$ %s\n", o.Command)
	}
	section(&b, "Build errors", r.Build, Diagnostic.String)
	r.renderFailures(&b)
	section(&b, "Notes", r.Notes, func(s string) string { return strings.ReplaceAll(s, "\n", "\n  ") })
	if verdict == "NO TESTS RAN" {
		b.WriteString("\nNothing was tested. Check path and filter, or call test without a filter to see what there is.\n")
	}
	if !r.explained() && (verdict == "FAIL" || o.ExitCode != 0 || o.Ended != "") && strings.TrimSpace(o.Tail) != "" {
		fmt.Fprintf(&b, "\nThe runner ended with exit code %d; its output ends:\n%s\n", o.ExitCode, strings.TrimRight(o.Tail, "\n"))
	}
	if o.Log != "" {
		fmt.Fprintf(&b, "\n%s\n", o.Log)
	}
	return strings.TrimRight(b.String(), "\n")
}

func (r *Report) counts() string {
	parts := []string{fmt.Sprintf("%d failed", r.Failed)}
	if r.Errors > 0 {
		parts = append(parts, fmt.Sprintf("%d could not run", r.Errors))
	}
	parts = append(parts, fmt.Sprintf("%d passed", r.Passed))
	if r.Skipped > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", r.Skipped))
	}
	return strings.Join(parts, ", ")
}

func section[T any](b *strings.Builder, title string, items []T, text func(T) string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, it := range items {
		fmt.Fprintf(b, "- %s\n", text(it))
	}
}

func (r *Report) renderFailures(b *strings.Builder) {
	if len(r.Failures) == 0 {
		return
	}
	b.WriteString("\nFailures:\n")
	full := 0
	for _, f := range r.Failures {
		if full == shownFailures || b.Len() > shownReport {
			break
		}
		full++
		fmt.Fprintf(b, "- %s\n", f.title())
		if msg := show.Ends(f.Message, shownMessage); msg != "" {
			fmt.Fprintf(b, "    %s\n", strings.ReplaceAll(msg, "\n", "\n    "))
		}
		if len(f.Frames) > 0 {
			fmt.Fprintf(b, "    at %s\n", joinFrames(f.Frames))
		}
	}
	rest := r.Failures[full:]
	if len(rest) == 0 {
		return
	}
	fmt.Fprintf(b, "And %d more, by name only:\n", r.Failed+r.Errors-full)
	for _, f := range rest[:min(len(rest), shownNames)] {
		fmt.Fprintf(b, "- %s\n", f.title())
	}
}

func (f Failure) title() string {
	switch {
	case f.Name == "" && f.Suite == "":
		return "the run itself"
	case f.Name == "":
		return f.Suite
	case f.Suite == "":
		return f.Name
	}
	return f.Suite + " " + f.Name
}

func joinFrames(fs []Frame) string {
	var s []string
	for _, f := range fs {
		s = append(s, f.String())
	}
	return strings.Join(s, ", ")
}
