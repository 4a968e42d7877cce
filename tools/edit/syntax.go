package edit

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"strings"
)

// SyntaxCheck parses the text of a file and returns what is wrong with it, nil when it parses.
type SyntaxCheck func(path, src string) error

// Syntax holds the check for every file name extension, such as ".go", that has one. A host adds
// its own, for instance from a tree-sitter grammar.
type Syntax map[string]SyntaxCheck

// StandardSyntax returns the checks that need nothing beyond the standard library: Go and JSON. The
// map is the caller's to extend.
func StandardSyntax() Syntax {
	return Syntax{".go": checkGo, ".json": checkJSON}
}

// Check says in words whether a file still parses after an edit: the note is empty when it does,
// when it did not before either, or when nothing is known about such files. A file that parses
// again where it did not before is noted too.
func (s Syntax) Check(name, before, after string) string {
	check := s[strings.ToLower(path.Ext(name))]
	if check == nil {
		return ""
	}
	err := check(name, after)
	if before == "" {
		if err != nil {
			return fmt.Sprintf("%s does not parse: %v", name, err)
		}
		return ""
	}
	was := check(name, before)
	switch {
	case was == nil && err != nil:
		return fmt.Sprintf("%s no longer parses after this edit: %v", name, err)
	case was != nil && err == nil:
		return name + " parses again after this edit"
	}
	return ""
}

// CheckSyntax is [Syntax.Check] with [StandardSyntax].
func CheckSyntax(name, before, after string) string {
	return StandardSyntax().Check(name, before, after)
}

func checkGo(name, src string) error {
	_, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) > 0 { // the first is the one that matters; the rest follow from it
		return fmt.Errorf("line %d: %s", list[0].Pos.Line, list[0].Msg)
	}
	return err
}

func checkJSON(_, src string) error {
	dec := json.NewDecoder(strings.NewReader(src))
	var v json.RawMessage
	err := dec.Decode(&v)
	var se *json.SyntaxError
	if errors.As(err, &se) {
		return fmt.Errorf("line %d: %w", lineAt(src, min(int(se.Offset), len(src))), err)
	}
	if err == nil && dec.More() {
		return errors.New("more text after the value")
	}
	return err
}
