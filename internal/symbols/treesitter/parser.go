//go:build cgo && !luthier_nosymbols

package treesitter

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	sitter "github.com/smacker/go-tree-sitter"

	"github.com/luthier-dev/luthier/internal/symbols"
)

// A Parser finds symbols with grammars. For each goroutine that uses it at the same time it holds C
// memory, which is freed when the garbage collector runs.
type Parser struct {
	byEnding map[string]*language
	free     sync.Pool // of *sitter.Parser: each may serve one goroutine at a time
}

// New returns a parser. Each grammar is loaded at its first use, which takes tens of milliseconds.
func New() *Parser {
	p := &Parser{byEnding: map[string]*language{}}
	p.free.New = func() any { return sitter.NewParser() }
	for _, g := range grammars() {
		l := &language{grammar: g}
		for _, e := range strings.Fields(g.endings) {
			p.byEnding[e] = l
		}
	}
	return p
}

// Grammars returns the file extensions that have a grammar, sorted.
func (p *Parser) Grammars() []string { return slices.Sorted(maps.Keys(p.byEnding)) }

// A language is a grammar with its query, compiled at the first use.
type language struct {
	grammar
	once     sync.Once
	lang     *sitter.Language
	compiled *sitter.Query
	captures []capture // by the number of a capture in the query
	err      error
}

// A capture describes a captured node: a part of a definition, a definition of a kind, or a
// reference.
type capture struct {
	role  role
	kind  string
	local bool // of interest only outside of functions
}

type role byte

const (
	roleDef role = iota
	roleName
	roleBody
	roleWrap
	roleRef
	roleError
	roleScope // the body of an anonymous function
)

func (l *language) ready() error {
	l.once.Do(func() {
		text, err := queries.ReadFile("queries/" + l.query + ".scm")
		if err != nil {
			l.err = fmt.Errorf("treesitter: read query: %w", err)
			return
		}
		l.lang = l.language()
		if l.compiled, err = sitter.NewQuery(text, l.lang); err != nil {
			l.err = fmt.Errorf("treesitter: compile query of %s: %w", l.name, err)
			return
		}
		for i := range l.compiled.CaptureCount() {
			l.captures = append(l.captures, captureOf(l.compiled.CaptureNameForId(i)))
		}
	})
	return l.err
}

func captureOf(name string) capture {
	switch name {
	case "name":
		return capture{role: roleName}
	case "body":
		return capture{role: roleBody}
	case "wrap":
		return capture{role: roleWrap}
	case "scope":
		return capture{role: roleScope}
	case "value":
		return capture{kind: symbols.Func, local: true}
	case "member":
		return capture{kind: symbols.Method, local: true}
	case "var", "const":
		return capture{kind: name, local: true}
	case "error":
		return capture{role: roleError}
	case "call":
		return capture{role: roleRef, kind: symbols.Call}
	case "use":
		return capture{role: roleRef, kind: symbols.TypeUse}
	}
	return capture{kind: name}
}

// timeLimit limits the time to parse a file, in microseconds: far more than any real file takes.
func timeLimit(size int) int { return 300_000 + 5*size }

// Of finds the symbols of a file. Parts that the grammar cannot read are read as by [symbols.Of].
func (p *Parser) Of(path string, src []byte) (symbols.Result, error) {
	l, ok := p.byEnding[symbols.Ending(path)]
	if !ok || len(src) > maxParsed || !harmless(src) {
		return symbols.Of(path, src)
	}
	if err := l.ready(); err != nil {
		return symbols.Result{}, err
	}
	f := file{lang: l, src: src}
	if !p.parse(&f) {
		return symbols.Of(path, src)
	}
	r := f.result()
	if f.broken {
		plain, err := symbols.Of(path, src)
		if err != nil {
			return r, nil
		}
		f.repair(&r, plain)
	}
	return r, nil
}

// parse runs the grammar and its query over a file, and frees the memory that C allocated for it.
// It reports false if that took too long.
func (p *Parser) parse(f *file) bool {
	parser := p.free.Get().(*sitter.Parser)
	defer p.free.Put(parser)
	parser.SetLanguage(f.lang.lang)
	parser.SetOperationLimit(timeLimit(len(f.src)))
	tree, err := parser.ParseCtx(noContext, nil, f.src)
	if err != nil {
		parser.Reset() // otherwise it would continue with this text
		return false
	}
	defer tree.Close()
	cursor := sitter.NewQueryCursor()
	defer cursor.Close()
	root := tree.RootNode()
	f.broken = root.HasError()
	cursor.Exec(f.lang.compiled, root)
	for {
		m, ok := cursor.NextMatch()
		if !ok {
			return true
		}
		f.match(m)
	}
}
