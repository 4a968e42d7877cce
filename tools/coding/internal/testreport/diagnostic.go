package testreport

import (
	"regexp"
	"strconv"
	"strings"
)

// Diagnostic is one finding of a compiler or linter.
type Diagnostic struct {
	Path     string // relative to the workspace if inside it
	Line     int    // from 1; 0 if unknown
	Col      int    // from 1; 0 if unknown
	Severity string // "error", "warning" or "note"; "" if the tool does not say
	Message  string
	Rule     string // the tool's name for the rule, such as "F401"
	Tool     string
}

// String formats d as "path:line:col: severity: message (rule, tool)", omitting unknown fields.
func (d Diagnostic) String() string {
	var b strings.Builder
	b.WriteString(d.Path)
	if d.Line > 0 {
		b.WriteString(":" + strconv.Itoa(d.Line))
		if d.Col > 0 {
			b.WriteString(":" + strconv.Itoa(d.Col))
		}
	}
	if d.Path != "" {
		b.WriteString(": ")
	}
	if d.Severity != "" {
		b.WriteString(d.Severity + ": ")
	}
	b.WriteString(d.Message)
	switch {
	case d.Rule != "" && d.Tool != "":
		b.WriteString(" (" + d.Tool + " " + d.Rule + ")")
	case d.Tool != "":
		b.WriteString(" (" + d.Tool + ")")
	}
	return b.String()
}

// positioned matches "path:line:col: message", the form most compilers print, with or without the
// column.
var positioned = regexp.MustCompile(`^((?:[A-Za-z]:)?[^:\s][^:]*):(\d+)(?::(\d+))?(?:-\d+(?::\d+)?)?:\s+(.*)$`)

// parsePositioned parses one line of that form.
func parsePositioned(line, tool string, p Paths) (Diagnostic, bool) {
	m := positioned.FindStringSubmatch(line)
	if m == nil {
		return Diagnostic{}, false
	}
	d := Diagnostic{Path: m[1], Message: m[4], Tool: tool}
	d.Line, _ = strconv.Atoi(m[2])
	d.Col, _ = strconv.Atoi(m[3])
	if rel, ok := p.rel(d.Path); ok {
		d.Path = rel
	}
	for _, sev := range []string{"error", "warning", "note"} {
		if rest, ok := strings.CutPrefix(d.Message, sev+": "); ok {
			d.Severity, d.Message = sev, rest
			break
		}
	}
	return d, true
}
