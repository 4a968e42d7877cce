package realfix

import (
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// Candidate is a single line of a function that differs between two versions, while its neighbours
// do not.
type Candidate struct {
	Dir, File string // relative to the module's root
	Function  repair.Function
	Line      int    // in the newer version's function, from 1
	Old, New  string // without indentation
	Sole      bool   // nothing else in the function differs
	Tested    bool   // the package's tests differ too
	Kind      string // Behaviour or Message
}

// Diff returns the candidates between two unpacked versions of a module. Files that do not parse,
// generated files, tests and packages without tests have none.
func Diff(oldRoot, newRoot string) ([]Candidate, error) {
	var all []Candidate
	err := filepath.WalkDir(newRoot, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(newRoot, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skipDir(path, rel) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		all = append(all, diffFile(oldRoot, newRoot, rel)...)
		return nil
	})
	return all, err
}

// skipDir reports whether a directory holds no packages of the module.
func skipDir(path, rel string) bool {
	name := filepath.Base(path)
	if rel == "." {
		return false
	}
	if name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

func diffFile(oldRoot, newRoot, rel string) []Candidate {
	before, err := os.ReadFile(filepath.Join(oldRoot, rel))
	if err != nil {
		return nil
	}
	after, err := os.ReadFile(filepath.Join(newRoot, rel))
	if err != nil || bytes.Equal(before, after) || generated(after) || bytes.Contains(after, []byte(`import "C"`)) {
		return nil
	}
	tests, changed := testsOf(oldRoot, newRoot, filepath.Dir(rel))
	if !tests {
		return nil
	}
	olds, err := repair.Functions(rel, before)
	if err != nil {
		return nil
	}
	news, err := repair.Functions(rel, after)
	if err != nil {
		return nil
	}
	was, is := byName(olds), byName(news)
	var all []Candidate
	for _, f := range news {
		old, ok := was[f.Name]
		if _, one := is[f.Name]; !ok || !one || old.Text == f.Text {
			continue
		}
		for _, c := range lines(old.Text, f.Text) {
			c.Dir, c.File, c.Function, c.Tested, c.Kind = filepath.Dir(rel), rel, f, changed, kindOf(c.Old, c.New)
			all = append(all, c)
		}
	}
	return all
}

// byName returns the functions by name, if their name is unique in the file. A file may have
// several init functions.
func byName(fns []repair.Function) map[string]repair.Function {
	named, count := map[string]repair.Function{}, map[string]int{}
	for _, f := range fns {
		named[f.Name] = f
		count[f.Name]++
	}
	for name, n := range count {
		if n > 1 {
			delete(named, name)
		}
	}
	return named
}

// generated reports whether a file declares itself generated.
func generated(src []byte) bool {
	return bytes.Contains(src[:min(len(src), 2000)], []byte("DO NOT EDIT"))
}

// testsOf reports whether a package has tests, and whether they differ between the versions.
func testsOf(oldRoot, newRoot, dir string) (tests, changed bool) {
	names, _ := filepath.Glob(filepath.Join(newRoot, dir, "*_test.go"))
	for _, name := range names {
		after, _ := os.ReadFile(name)
		before, err := os.ReadFile(filepath.Join(oldRoot, dir, filepath.Base(name)))
		if err != nil || !bytes.Equal(before, after) {
			return true, true
		}
	}
	return len(names) > 0, false
}

// lines returns the single lines of a function that replace a line of the older text while their
// neighbours are unchanged. If a function has many changes, no single one is considered a fix.
func lines(before, after string) []Candidate {
	edits := udiff.Lines(before+"\n", after+"\n")
	if len(edits) == 0 || len(edits) > 4 {
		return nil
	}
	var all []Candidate
	for _, e := range edits {
		oldLine, newLine := (before + "\n")[e.Start:e.End], e.New
		if strings.Count(oldLine, "\n") != 1 || strings.Count(newLine, "\n") != 1 || !strings.HasSuffix(oldLine, "\n") || !strings.HasSuffix(newLine, "\n") {
			continue
		}
		oldLine, newLine = strings.TrimSpace(oldLine), strings.TrimSpace(newLine)
		if oldLine == "" || newLine == "" || sameTokens(oldLine, newLine) {
			continue
		}
		if n := newNumber(before+"\n", edits, e); n > 1 { // the func line itself is a signature, not a statement
			all = append(all, Candidate{Line: n, Old: oldLine, New: newLine, Sole: len(edits) == 1})
		}
	}
	return all
}

// newNumber returns the number, in the newer text, of the line that an edit inserts.
func newNumber(before string, edits []udiff.Edit, e udiff.Edit) int {
	n := strings.Count(before[:e.Start], "\n") + 1
	for _, other := range edits {
		if other.Start < e.Start {
			n += strings.Count(other.New, "\n") - strings.Count(before[other.Start:other.End], "\n")
		}
	}
	return n
}

// A word is a token of a line with its text.
type word struct {
	token token.Token
	text  string
}

// words splits a line into tokens without comments.
func words(line string) []word {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(line)), []byte(line), func(token.Position, string) {}, 0)
	var all []word
	for {
		_, tok, text := s.Scan()
		if tok == token.EOF || tok == token.SEMICOLON && text == "\n" {
			return all
		}
		all = append(all, word{tok, text})
	}
}

// distance returns the number of tokens, in the longer of two lines, between their common beginning
// and their common end.
func distance(a, b string) int {
	x, y := words(a), words(b)
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return max(len(x), len(y))
}

// Promise scores how likely a candidate is to be a fix: more tokens in common, nothing else changed
// in its function and a change in the package's tests raise the score. The score has no unit.
func (c Candidate) Promise() int {
	p := 8 - min(distance(c.Old, c.New), 8)
	if c.Sole {
		p += 3
	}
	if c.Tested {
		p += 6
	}
	if c.Kind == Message {
		p -= 20
	}
	return p
}

// sameTokens reports whether two lines differ only in spaces and comments.
func sameTokens(a, b string) bool {
	x, y := words(a), words(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] {
			return false
		}
	}
	return true
}
