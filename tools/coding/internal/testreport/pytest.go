package testreport

import (
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

var (
	pytestRule    = regexp.MustCompile(`^=+ (.+?) =+$`)
	pytestBlock   = regexp.MustCompile(`^_{2,} (.+?) _{2,}$|^_ (.+) _$`)
	pytestCapture = regexp.MustCompile(`^-{3,} Captured .+ -{3,}$`)
	pytestTotals  = regexp.MustCompile(`^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+|no tests ran)(?: in ([\d.]+)s(?: \([\d:]+\))?)?(?: =+)?$`)
	pytestCount   = regexp.MustCompile(`(\d+) ([a-z]+)`)
	pytestPhase   = regexp.MustCompile(`^ERROR (?:at (?:setup|teardown) of|collecting) (.+)$`)
)

// pytestFailed is one block of the FAILURES or ERRORS section.
type pytestFailed struct {
	title string  // such as "TestBox.test_deep", or a file for a collection error
	why   clipBuf // the lines that pytest marks with E
	all   clipBuf
	loose bool // past the traceback, in captured output
}

type pytestParser struct {
	rep     *Report
	paths   Paths
	section string
	blocks  map[string][]*pytestFailed // by title, in order
	order   []*pytestFailed
	cur     *pytestFailed
	crash   *clipBuf
	tail    clipBuf
}

// ParsePytest parses the text that pytest prints, with any --tb style, verbosity and width. Names
// come from its short test summary (options -rfE), messages and positions from the blocks above it.
func ParsePytest(r io.Reader, paths Paths) (*Report, error) {
	p := &pytestParser{rep: &Report{}, paths: paths, blocks: map[string][]*pytestFailed{}}
	err := eachLine(r, func(line []byte, _ bool) { p.line(show.Clean(line)) })
	p.finish()
	return p.rep, err
}

func (p *pytestParser) line(line string) {
	if p.crash != nil {
		p.crash.add(line + "\n")
		return
	}
	if p.totals(line) {
		return
	}
	if m := pytestRule.FindStringSubmatch(line); m != nil {
		p.cur, p.section = nil, m[1]
		return
	}
	switch p.section {
	case "FAILURES", "ERRORS":
		p.blockLine(line)
	case "short test summary info":
		p.summaryLine(line)
	default:
		p.otherLine(line)
	}
}

// totals parses the closing line, such as "== 1 failed, 2 passed in 0.12s ==".
func (p *pytestParser) totals(line string) bool {
	m := pytestTotals.FindStringSubmatch(line)
	if m == nil || m[2] == "" && p.section != "short test summary info" {
		return false
	}
	p.rep.Passed, p.rep.Failed, p.rep.Skipped, p.rep.Errors = 0, 0, 0, 0
	for _, c := range pytestCount.FindAllStringSubmatch(m[1], -1) {
		n, err := strconv.Atoi(c[1])
		if err != nil {
			continue
		}
		switch c[2] {
		case "passed", "xpassed":
			p.rep.Passed += n
		case "failed":
			p.rep.Failed += n
		case "skipped", "xfailed":
			p.rep.Skipped += n
		case "error", "errors":
			p.rep.Errors += n
		case "deselected":
			p.rep.Note(c[0])
		}
	}
	if secs, err := strconv.ParseFloat(m[2], 64); err == nil {
		p.rep.Elapsed = time.Duration(secs * float64(time.Second))
	}
	p.rep.Complete = true
	p.section, p.cur = "", nil
	return true
}

func (p *pytestParser) blockLine(line string) {
	if m := pytestBlock.FindStringSubmatch(line); m != nil && !strings.HasPrefix(line, "_ _ ") {
		title := m[1] + m[2]
		if ph := pytestPhase.FindStringSubmatch(title); ph != nil {
			title = ph[1]
		}
		p.cur = nil
		if len(p.order) < maxTestFailures {
			p.cur = &pytestFailed{title: title}
			p.order = append(p.order, p.cur)
			p.blocks[title] = append(p.blocks[title], p.cur)
		}
		return
	}
	if p.cur == nil {
		return
	}
	if pytestCapture.MatchString(line) {
		p.cur.loose = true
	}
	if p.cur.loose {
		return
	}
	p.cur.all.add(line + "\n")
	if rest, ok := strings.CutPrefix(line, "E "); ok {
		p.cur.why.add(strings.TrimPrefix(rest, "  ") + "\n")
	}
}

// summaryLine parses "FAILED tests/test_x.py::test_y[a - b] - AssertionError: ...".
func (p *pytestParser) summaryLine(line string) {
	rest, failed := strings.CutPrefix(line, "FAILED ")
	if !failed {
		var ok bool
		if rest, ok = strings.CutPrefix(line, "ERROR "); !ok {
			if strings.HasPrefix(line, "!!!") {
				p.rep.Note(strings.Trim(line, "! "))
			}
			return
		}
	}
	id, why, b := p.match(rest)
	f := Failure{Message: why}
	f.Suite, f.Name, _ = strings.Cut(id, "::")
	if b != nil {
		f = b.fill(f, p.paths)
	}
	if rel, ok := p.paths.rel(f.Suite); ok {
		f.Suite = rel
	}
	p.rep.fail(f)
}

// match splits a summary line into node id and message and finds the block that belongs to it.
// Parameters may themselves contain " - ", so every possible split is compared with the titles.
func (p *pytestParser) match(rest string) (id, why string, b *pytestFailed) {
	for from := 0; ; {
		i := strings.Index(rest[from:], " - ")
		id = rest
		if i >= 0 {
			id, why = rest[:from+i], rest[from+i+len(" - "):]
		} else {
			why = ""
		}
		title := id
		if _, name, ok := strings.Cut(id, "::"); ok {
			title = strings.ReplaceAll(name, "::", ".")
		}
		if q := p.blocks[title]; len(q) > 0 {
			p.blocks[title] = q[1:]
			return id, why, q[0]
		}
		if i < 0 {
			break
		}
		from += i + len(" - ")
	}
	id, why, _ = strings.Cut(rest, " - ")
	return id, why, nil
}

func (b *pytestFailed) fill(f Failure, paths Paths) Failure {
	if why := strings.TrimRight(b.why.String(), "\n"); why != "" {
		f.Message = dedent(why)
	} else if f.Message == "" {
		f.Message = dedent(b.all.String())
	}
	f.Frames = paths.frames(b.all.String(), "")
	// pytest prints the outermost frame first; the failing one is more useful.
	for i, j := 0, len(f.Frames)-1; i < j; i, j = i+1, j-1 {
		f.Frames[i], f.Frames[j] = f.Frames[j], f.Frames[i]
	}
	b.title = ""
	return f
}

func (p *pytestParser) otherLine(line string) {
	switch {
	case strings.Contains(line, "Fatal Python error: "):
		p.crash = &clipBuf{}
		p.crash.add(line[strings.Index(line, "Fatal Python error: "):] + "\n")
	case strings.HasPrefix(line, "ERROR: "), strings.HasPrefix(line, "INTERNALERROR> "), strings.Contains(line, "No module named pytest"):
		p.rep.Note(line)
	default:
		p.tail.add(line + "\n")
	}
}

func (p *pytestParser) finish() {
	if p.crash != nil {
		text := p.crash.String()
		first, _, _ := strings.Cut(text, "\n")
		p.rep.Errors++
		p.rep.fail(Failure{Message: first + ": the test process ended while a test ran", Frames: p.paths.frames(text, "")})
		return
	}
	if len(p.rep.Failures) > 0 {
		return
	}
	// Without a short summary (if the project's own options have -r or --no-summary), only the
	// blocks are available.
	for _, b := range p.order {
		if b.title != "" {
			title := b.title
			p.rep.fail(b.fill(Failure{Name: title}, p.paths))
		}
	}
}
