package testreport

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// maxDiagnostics is the maximum number of findings kept per linter.
const maxDiagnostics = 1000

// maxLintReport is the maximum size of a linter's JSON report.
const maxLintReport = 64 << 20

// LintParser parses the output of a linter.
type LintParser func(r io.Reader, p Paths) ([]Diagnostic, error)

// ParseLines parses "path:line:col: message" lines, as go vet, gopls check and most compilers print
// them. Other lines are skipped.
func ParseLines(tool string) LintParser {
	return func(r io.Reader, p Paths) ([]Diagnostic, error) {
		var out []Diagnostic
		err := eachLine(r, func(line []byte, _ bool) {
			d, ok := parsePositioned(strings.TrimPrefix(show.Clean(line), "vet: "), tool, p)
			if ok && len(out) < maxDiagnostics {
				out = append(out, d)
			}
		})
		return out, err
	}
}

// ParsePattern parses the lines that match a pattern with named groups.
func ParsePattern(tool string, re *regexp.Regexp) LintParser {
	return func(r io.Reader, p Paths) ([]Diagnostic, error) {
		var out []Diagnostic
		err := eachLine(r, func(line []byte, _ bool) {
			m := re.FindStringSubmatch(show.Clean(line))
			if m == nil || len(out) >= maxDiagnostics {
				return
			}
			get := func(name string) string {
				if i := re.SubexpIndex(name); i >= 0 {
					return m[i]
				}
				return ""
			}
			d := Diagnostic{Path: get("path"), Message: get("message"), Severity: strings.ToLower(get("severity")), Rule: get("rule"), Tool: tool}
			d.Line, _ = strconv.Atoi(get("line"))
			d.Col, _ = strconv.Atoi(get("col"))
			out = append(out, d.in(p))
		})
		return out, err
	}
}

// in returns d with a path relative to the workspace, if the file is inside it.
func (d Diagnostic) in(p Paths) Diagnostic {
	if rel, ok := p.rel(d.Path); ok && d.Path != "" {
		d.Path = rel
	}
	return d
}

var tscLine = regexp.MustCompile(`^(?P<path>.+?)\((?P<line>\d+),(?P<col>\d+)\): (?P<severity>error|warning) (?P<rule>TS\d+): (?P<message>.*)$`)

// ParseTSC parses the output of "tsc --pretty false". Errors without a position, such as a wrong
// tsconfig.json, are findings too.
func ParseTSC(r io.Reader, p Paths) ([]Diagnostic, error) {
	placeless := regexp.MustCompile(`^(error) (TS\d+): (.*)$`)
	var rest []Diagnostic
	pr, pw := io.Pipe()
	go func() {
		err := eachLine(r, func(line []byte, _ bool) {
			if m := placeless.FindSubmatch(line); m != nil && len(rest) < maxDiagnostics {
				rest = append(rest, Diagnostic{Severity: "error", Rule: string(m[2]), Message: string(m[3]), Tool: "tsc"})
			}
			_, _ = pw.Write(append(slices.Clone(line), '\n'))
		})
		pw.CloseWithError(err)
	}()
	out, err := ParsePattern("tsc", tscLine)(pr, p)
	return append(out, rest...), err
}

// ParseCargoCheck parses the output of "cargo check --message-format=json".
func ParseCargoCheck(r io.Reader, p Paths) ([]Diagnostic, error) {
	var out []Diagnostic
	err := eachLine(r, func(line []byte, _ bool) {
		d, _, finding := parseCargoMessage(line, "rustc", p)
		// A file that is part of several targets is reported once for each.
		if finding && len(out) < maxDiagnostics && !slices.Contains(out, d) {
			out = append(out, d)
		}
	})
	return out, err
}

func decodeReport(r io.Reader, v any) error {
	data, err := io.ReadAll(io.LimitReader(r, maxLintReport+1))
	if err != nil {
		return err
	}
	if len(data) > maxLintReport {
		return errors.New("the report is too large; check fewer paths")
	}
	if len(strings.TrimSpace(string(data))) == 0 {
		return nil // it failed before it could report anything, which its exit code shows
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("its report is not the JSON it should be: %w", err)
	}
	return nil
}

// ParseRuff parses the output of "ruff check --output-format=json".
func ParseRuff(r io.Reader, p Paths) ([]Diagnostic, error) {
	var found []struct {
		Code     *string
		Message  string
		Filename string
		Location struct{ Row, Column int }
	}
	if err := decodeReport(r, &found); err != nil {
		return nil, err
	}
	var out []Diagnostic
	for _, f := range found[:min(len(found), maxDiagnostics)] {
		d := Diagnostic{Path: f.Filename, Line: max(f.Location.Row, 0), Col: max(f.Location.Column, 0), Severity: "warning", Message: f.Message, Tool: "ruff"}
		if f.Code == nil || *f.Code == "invalid-syntax" {
			d.Severity = "error"
		}
		if f.Code != nil {
			d.Rule = *f.Code
		}
		out = append(out, d.in(p))
	}
	return out, nil
}

// ParseESLint parses the output of "eslint --format json".
func ParseESLint(r io.Reader, p Paths) ([]Diagnostic, error) {
	var files []struct {
		FilePath string
		Messages []struct {
			RuleID       *string
			Severity     int
			Message      string
			Line, Column int
		}
	}
	if err := decodeReport(r, &files); err != nil {
		return nil, err
	}
	var out []Diagnostic
	for _, f := range files {
		for _, m := range f.Messages {
			if len(out) == maxDiagnostics {
				return out, nil
			}
			d := Diagnostic{Path: f.FilePath, Line: max(m.Line, 0), Col: max(m.Column, 0), Severity: "warning", Message: m.Message, Tool: "eslint"}
			if m.Severity == 2 {
				d.Severity = "error"
			}
			if m.RuleID != nil {
				d.Rule = *m.RuleID
			}
			out = append(out, d.in(p))
		}
	}
	return out, nil
}
