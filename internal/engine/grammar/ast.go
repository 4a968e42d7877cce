package grammar

import (
	"encoding/json"
	"fmt"
)

// Node is a part of a grammar. Nodes are made by the functions of this package and compiled by
// [Compile]; they are values and may be used in several places.
type Node interface{ isNode() }

type (
	litNode    struct{ text string }
	classNode  struct{ set []span }
	seqNode    struct{ kids []Node }
	altNode    struct{ kids []Node }
	repeatNode struct {
		kid      Node
		min, max int
	}
	setNode struct {
		kids     []Node
		required []bool
		sep      Node
		some     bool
	}
	tokenNode  struct{ id int32 }
	ruleNode   struct{ name string }
	schemaNode struct {
		schema json.RawMessage
		opts   SchemaOptions
	}
	regexNode struct{ pattern string }
	untilNode struct {
		stops   []string
		consume bool
	}
	limitNode struct {
		stops    []string
		min, max int
	}
)

func (litNode) isNode()    {}
func (classNode) isNode()  {}
func (seqNode) isNode()    {}
func (altNode) isNode()    {}
func (repeatNode) isNode() {}
func (setNode) isNode()    {}
func (tokenNode) isNode()  {}
func (ruleNode) isNode()   {}
func (schemaNode) isNode() {}
func (regexNode) isNode()  {}
func (untilNode) isNode()  {}
func (limitNode) isNode()  {}

// Lit matches exactly this text.
func Lit(text string) Node { return litNode{text} }

// Seq matches its parts one after the other. With no parts it matches the empty text.
func Seq(parts ...Node) Node { return seqNode{parts} }

// Alt matches any one of its parts. With no parts it does not match any text.
func Alt(parts ...Node) Node { return altNode{parts} }

// Repeat matches part min to max times; a negative max means no limit.
func Repeat(part Node, min, max int) Node { return repeatNode{part, min, max} }

// Opt matches part or the empty text.
func Opt(part Node) Node { return repeatNode{part, 0, 1} }

// Set matches its parts in any order, each at most once, with sep between them. A part for which
// required is true must occur; a missing entry of required means false. If some is true, at least
// one part must occur. A nil sep matches the empty text.
func Set(parts []Node, required []bool, sep Node, some bool) Node {
	return setNode{parts, required, sep, some}
}

// Token matches the token with the given id, such as a control token that no text produces.
func Token(id int32) Node { return tokenNode{id} }

// Rule matches the rule with the given name among those passed to [CompileRules]. Rules may be
// recursive, but not left-recursive.
func Rule(name string) Node { return ruleNode{name} }

// JSON matches JSON text that is valid for the schema.
func JSON(schema json.RawMessage, opts SchemaOptions) Node { return schemaNode{schema, opts} }

// Regex matches text that the pattern, in the dialect of JSON Schema, matches as a whole.
func Regex(pattern string) Node { return regexNode{pattern} }

// Until matches text up to and including the first of the stops.
func Until(stops ...string) Node { return untilNode{stops, true} }

// Without matches text of any length that contains none of the stops.
func Without(stops ...string) Node { return untilNode{stops, false} }

// Limited is like Without, for text of min to max code points; a negative max means no limit.
func Limited(min, max int, stops ...string) Node { return limitNode{stops, min, max} }

// SchemaOptions controls the layout of JSON text.
type SchemaOptions struct {
	Space Space
}

// Space selects the white space that JSON text may contain.
type Space int

// Layouts of JSON text.
const (
	SpaceAny     Space = iota // after any part: none, one blank, or a line break and up to 96 characters of indentation
	SpaceNone                 // none at all
	SpaceUniform              // one blank after every comma and colon and none elsewhere, like Python's json.dumps
)

// Compile compiles a grammar of one node.
func Compile(n Node, v *Vocab) (*Grammar, error) {
	return CompileRules("root", map[string]Node{"root": n}, v)
}

// CompileRules compiles a grammar of named rules that starts with the rule root.
func CompileRules(root string, rules map[string]Node, v *Vocab) (*Grammar, error) {
	if v == nil {
		return nil, fmt.Errorf("grammar: compile rules: no vocabulary")
	}
	b := newBuilder(v, rules)
	id, err := b.rule(root)
	if err == nil {
		b.p.root = id
		err = b.check()
	}
	if err != nil {
		return nil, fmt.Errorf("grammar: compile rules: %w", err)
	}
	return newGrammar(b.p)
}

// CompileSchema compiles a JSON Schema (draft-07 or 2020-12) to the grammar of the JSON texts that
// are valid for it. If a keyword cannot be enforced, it returns an [UnsupportedError].
func CompileSchema(schema json.RawMessage, v *Vocab) (*Grammar, error) {
	if v == nil {
		return nil, fmt.Errorf("grammar: compile schema: no vocabulary")
	}
	b := newBuilder(v, nil)
	id, err := b.schema(schema, SchemaOptions{})
	if err == nil {
		b.p.root = id
		err = b.check()
	}
	if err != nil {
		return nil, fmt.Errorf("grammar: compile schema: %w", err)
	}
	return newGrammar(b.p)
}

func newGrammar(p *program) (*Grammar, error) {
	m := newMachine(p)
	if m.broken {
		return nil, ErrSteps
	}
	return &Grammar{p: p, m: m}, nil
}

// UnsupportedError reports a part of a schema or pattern that is understood but cannot be enforced.
// The package never compiles a grammar that accepts more than the schema does.
type UnsupportedError struct {
	Keyword string // the keyword, such as "uniqueItems"
	Path    string // JSON pointer to the schema that contains it
	Reason  string // why, and where possible what to write instead
}

// Error implements error.
func (e *UnsupportedError) Error() string {
	path := e.Path
	if path == "" {
		path = "the root"
	}
	return fmt.Sprintf("unsupported keyword %q at %s: %s", e.Keyword, path, e.Reason)
}
