package measure

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/luthier-dev/luthier/examples/fix/internal/realfix"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
)

// Fact specifies a broken line: its place, its text and the kind of slip.
type Fact struct {
	Module, Version string
	Dir             string // directory of the package, relative to the module's root
	File            string // within Dir
	Function        string // as in [repair.Function].Name
	Start           int    // line of the word func
	Line            int    // from 1 at the func line
	Text            string // the broken line, without indentation
	Kind            string // kind of slip

	order int
}

// key orders facts by package.
func (f Fact) key() string { return f.Module + "@" + f.Version + " " + f.Dir }

// ReadFacts reads facts as JSON lines, or the tasks that are written by the step "verify" of
// examples/fix/train.
func ReadFacts(r io.Reader) ([]Fact, error) {
	var facts []Fact
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 16<<20)
	for n := 1; sc.Scan(); n++ {
		if len(bytes.TrimSpace(sc.Bytes())) == 0 {
			continue
		}
		f, err := readFact(sc.Bytes())
		if err != nil {
			return nil, fmt.Errorf("measure: read tasks: line %d: %w", n, err)
		}
		facts = append(facts, f)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("measure: read tasks: %w", err)
	}
	return facts, nil
}

func readFact(line []byte) (Fact, error) {
	var kind struct{ Pkg string }
	if err := json.Unmarshal(line, &kind); err != nil {
		return Fact{}, err
	}
	if kind.Pkg == "" {
		var f Fact
		if err := json.Unmarshal(line, &f); err != nil {
			return f, err
		}
		if f.Module == "" || f.Version == "" || f.File == "" || f.Function == "" || f.Line < 1 {
			return f, fmt.Errorf("it names no module, version, file, function or line")
		}
		return f, nil
	}
	var t verify.Task
	if err := json.Unmarshal(line, &t); err != nil {
		return Fact{}, err
	}
	lines := strings.Split(t.Function.Text, "\n")
	if t.Line < 1 || t.Line > len(lines) {
		return Fact{}, fmt.Errorf("task %s has no line %d", t.ID, t.Line)
	}
	dir := strings.TrimPrefix(strings.TrimPrefix(t.Pkg, t.Module), "/")
	if dir == "" {
		dir = "."
	}
	return Fact{Module: t.Module, Version: t.Version, Dir: dir, File: t.File, Function: t.Function.Name, Start: t.Function.Start,
		Line: t.Line, Text: strings.TrimSpace(lines[t.Line-1]), Kind: t.Kind}, nil
}

// RealFixes returns the real bugs of examples/fix/internal/realfix, each with the broken line that
// a later version fixed. Bugs whose line is a message for people are left out.
func RealFixes() ([]Fact, error) {
	fixes, err := realfix.Fixes()
	if err != nil {
		return nil, err
	}
	var facts []Fact
	for _, x := range fixes {
		if x.Kind != realfix.Behaviour {
			continue
		}
		file := x.File[strings.LastIndex(x.File, "/")+1:]
		slip := x.Slip
		if slip == "" {
			slip = "none of the slips"
		}
		facts = append(facts, Fact{Module: x.Module, Version: x.Version, Dir: x.Dir, File: file, Function: x.Function,
			Start: x.FileLine - x.Line + 1, Line: x.Line, Text: x.Old, Kind: slip})
	}
	return facts, nil
}

// broken returns a function with the fact's broken line in it, and the right line.
func (f Fact) broken(fn repair.Function) (repair.Function, string, error) {
	lines := strings.Split(fn.Text, "\n")
	if f.Line > len(lines) {
		return fn, "", fmt.Errorf("%s has no line %d", fn.Name, f.Line)
	}
	fn.Text = fn.Edited(f.Line, f.Text)
	return fn, strings.TrimSpace(lines[f.Line-1]), nil
}
