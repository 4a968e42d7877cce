package testreport

import (
	"encoding/json"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

var (
	cargoTest   = regexp.MustCompile(`^test (.+?) \.\.\. (ok|FAILED|ignored|bench:)(?:,? .*)?$`)
	cargoTotals = regexp.MustCompile(`^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored; .*?(?:finished in ([\d.]+)s)?$`)
	cargoStdout = regexp.MustCompile(`^---- (.+?) (?:stdout|stderr) ----$`)
	cargoThread = regexp.MustCompile(`^thread '.*' (?:\(\d+\) )?panicked at `)
)

// cargoMessage is one line of cargo's --message-format=json.
type cargoMessage struct {
	Reason  string
	Success *bool
	Message struct {
		Level   string
		Message string
		Code    *struct{ Code string }
		Spans   []struct {
			FileName    string `json:"file_name"`
			LineStart   int    `json:"line_start"`
			ColumnStart int    `json:"column_start"`
			IsPrimary   bool   `json:"is_primary"`
			Label       string
		}
	}
}

// parseCargoMessage parses a line of cargo's JSON as a Diagnostic. known reports whether the line
// is from cargo at all.
func parseCargoMessage(line []byte, tool string, p Paths) (d Diagnostic, known, finding bool) {
	var m cargoMessage
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &m) != nil || m.Reason == "" {
		return d, false, false
	}
	if m.Reason != "compiler-message" || m.Message.Level != "error" && m.Message.Level != "warning" {
		return d, true, false
	}
	d = Diagnostic{Severity: m.Message.Level, Message: m.Message.Message, Tool: tool}
	if m.Message.Code != nil {
		d.Rule = m.Message.Code.Code
	}
	for _, s := range m.Message.Spans {
		if s.IsPrimary {
			d.Path, d.Line, d.Col = s.FileName, s.LineStart, s.ColumnStart
			if rel, ok := p.rel(d.Path); ok {
				d.Path = rel
			}
			if s.Label != "" && s.Label != d.Message {
				d.Message += ": " + s.Label
			}
			break
		}
	}
	return d, true, d.Path != "" // summaries such as "2 warnings emitted" have no position
}

type cargoParser struct {
	rep    *Report
	paths  Paths
	open   map[string]*clipBuf // output of failing tests of the current target; the value is nil before its block
	order  []string
	cur    *clipBuf
	begun  bool // "running n tests" was seen, but not yet its totals
	lastly string
	noise  clipBuf
}

// ParseCargo reads the standard output of "cargo test --message-format=json": cargo's JSON lines
// with the compiler's errors, interleaved with the text of the test harness.
func ParseCargo(r io.Reader, paths Paths) (*Report, error) {
	p := &cargoParser{rep: &Report{}, paths: paths, open: map[string]*clipBuf{}}
	err := eachLine(r, func(line []byte, _ bool) {
		if d, known, finding := parseCargoMessage(line, "rustc", paths); known {
			if finding && d.Severity == "error" {
				p.rep.build(d)
			}
			return
		}
		p.line(show.Clean(line))
	})
	p.flush()
	if p.begun {
		p.rep.Complete = false
		p.rep.Errors++
		p.rep.fail(Failure{Message: "the test process ended before its summary (a crash, an exit or the time limit); last seen: " + p.lastly})
	}
	return p.rep, err
}

func (p *cargoParser) line(line string) {
	if m := cargoTotals.FindStringSubmatch(line); m != nil {
		p.totals(m)
		return
	}
	if m := cargoStdout.FindStringSubmatch(line); m != nil {
		if c, ok := p.open[strings.TrimSuffix(m[1], " - should panic")]; ok {
			p.cur = c
			return
		}
	}
	if m := cargoTest.FindStringSubmatch(line); m != nil {
		p.lastly = m[0]
		if m[2] == "FAILED" {
			p.failed(strings.TrimSuffix(m[1], " - should panic"))
		}
		return
	}
	switch {
	case strings.HasPrefix(line, "running ") && (strings.HasSuffix(line, " test") || strings.HasSuffix(line, " tests")):
		p.begun, p.lastly = true, line
	case line == "failures:":
		p.cur = nil
	case p.cur != nil:
		p.cur.add(line + "\n")
	}
}

func (p *cargoParser) failed(name string) {
	if _, seen := p.open[name]; !seen && len(p.order) < maxTestFailures {
		p.open[name] = &clipBuf{}
		p.order = append(p.order, name)
	}
}

func (p *cargoParser) totals(m []string) {
	for i, n := range []*int{&p.rep.Passed, &p.rep.Failed, &p.rep.Skipped} {
		v, _ := strconv.Atoi(m[1+i])
		*n += v
	}
	if secs, err := strconv.ParseFloat(m[4], 64); err == nil {
		p.rep.Elapsed += time.Duration(secs * float64(time.Second))
	}
	p.flush()
	p.begun, p.rep.Complete = false, true
}

// flush reports the failures of one test target.
func (p *cargoParser) flush() {
	for _, name := range p.order {
		text := p.open[name].String()
		p.rep.fail(Failure{Name: name, Message: dedent(cargoText(text)), Frames: p.paths.frames(text, "")})
	}
	clear(p.open)
	p.order, p.cur = p.order[:0], nil
}

// cargoText drops the backtrace from a test's output. If there is a panic, the text starts at it.
func cargoText(text string) string {
	var keep []string
	for _, l := range strings.Split(text, "\n") {
		if cargoThread.MatchString(l) {
			keep = keep[:0]
		}
		if l == "stack backtrace:" {
			break
		}
		if !strings.HasPrefix(l, "note: run with `RUST_BACKTRACE") {
			keep = append(keep, l)
		}
	}
	return strings.Join(keep, "\n")
}
