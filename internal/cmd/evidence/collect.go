package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// line is one Evidence line of one test.
type line struct {
	subject, claim string
	file, test     string // the file has slashes and begins at the root of the repository
}

var (
	prefix = "Evidence:"
	format = regexp.MustCompile(`^// Evidence: ([a-z][a-z0-9-]*) · ([^|]*[^|. ])$`)
	tests  = regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example)(\P{Ll}|$)`)
)

// collect returns the Evidence lines of all test files below root, sorted, each once. It skips
// testdata and hidden folders. It returns an error if a line is malformed or is not in the comment
// of a test.
func collect(root fs.FS) ([]line, error) {
	var out []line
	var faults []error
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case d.IsDir():
			if base == "testdata" || name != "." && strings.HasPrefix(base, ".") {
				return fs.SkipDir
			}
			return nil
		case !strings.HasSuffix(base, "_test.go") || !d.Type().IsRegular():
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil || !bytes.Contains(text, []byte(prefix)) {
			return err
		}
		found, err := parse(name, text)
		out = append(out, found...)
		faults = append(faults, err)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.subject, b.subject), cmp.Compare(a.claim, b.claim), cmp.Compare(a.file, b.file), cmp.Compare(a.test, b.test))
	})
	return slices.Compact(out), errors.Join(faults...)
}

// parse returns the Evidence lines of one test file.
func parse(name string, text []byte) ([]line, error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	test := map[*ast.CommentGroup]string{}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Doc != nil && tests.MatchString(fn.Name.Name) {
			test[fn.Doc] = fn.Name.Name
		}
	}
	var out []line
	var faults []error
	for _, group := range f.Comments {
		for _, c := range group.List {
			if !strings.HasPrefix(strings.TrimLeft(c.Text, "/ \t"), prefix) {
				continue
			}
			m := format.FindStringSubmatch(c.Text)
			switch {
			case m == nil:
				faults = append(faults, fmt.Errorf("%s: write // Evidence: SUBJECT · CLAIM, with one word, without a full stop", files.Position(c.Pos())))
			case test[group] == "":
				faults = append(faults, fmt.Errorf("%s: the line is not in the doc comment of a test", files.Position(c.Pos())))
			default:
				out = append(out, line{m[1], m[2], name, test[group]})
			}
		}
	}
	return out, errors.Join(faults...)
}
