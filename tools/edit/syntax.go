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

// SyntaxCheck parses the text of a file and returns what is wrong with it, or nil if it parses.
type SyntaxCheck func(path, src string) error

// Syntax maps file name extensions, such as ".go", to their checks. A host can add its own, for
// instance from a tree-sitter grammar.
type Syntax map[string]SyntaxCheck

// StandardSyntax returns the checks that need only the standard library: Go and JSON. The caller
// may extend the map.
func StandardSyntax() Syntax {
	return Syntax{".go": checkGo, ".json": checkJSON}
}

// Check describes in words whether a file still parses after an edit. The note is empty if it does,
// if it did not parse before either, or if there is no check for such files. A file that parses
// again is noted too.
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
	if errors.As(err, &list) && len(list) > 0 { // only the first matters; the others follow from it
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
