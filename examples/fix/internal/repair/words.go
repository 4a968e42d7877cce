package repair

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"strings"
)

// Words holds the identifiers and keywords that code of a package may contain: those in its files,
// those that its imports export, and those that Go predeclares. A line with any other word does not
// compile, unless it declares the word.
type Words struct {
	whole  map[string]bool
	begins map[string]bool // prefixes of the words
}

func (w *Words) add(name string) {
	if w.whole[name] {
		return
	}
	w.whole[name] = true
	for i := 1; i <= len(name); i++ {
		w.begins[name[:i]] = true
	}
}

// Words returns the words of the package's code, or nil if they are not known, as with cgo.
func (c *Checker) Words() *Words {
	if c.words == nil && !c.cgo {
		c.words = c.readWords()
	}
	return c.words
}

func (c *Checker) readWords() *Words {
	w := &Words{whole: map[string]bool{"_": true}, begins: map[string]bool{"_": true}}
	for _, name := range types.Universe.Names() {
		w.add(name)
	}
	for t := token.BREAK; t <= token.VAR; t++ {
		w.add(t.String())
	}
	for _, f := range c.files {
		ast.Inspect(f.full, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				w.add(id.Name)
			}
			return true
		})
	}
	reach := reacher{words: w, seen: map[types.Type]bool{}}
	for at, p := range c.imports {
		w.add(path.Base(at))
		w.add(p.Name)
		if p.Types == nil {
			continue
		}
		for _, name := range p.Types.Scope().Names() {
			reach.object(p.Types.Scope().Lookup(name))
		}
	}
	return w
}

// A reacher adds the names that may occur in selectors: the exported names of types that can be
// reached from other types.
type reacher struct {
	words *Words
	seen  map[types.Type]bool
}

func (r *reacher) object(o types.Object) {
	if o.Exported() {
		r.words.add(o.Name())
		r.typ(o.Type())
	}
}

func (r *reacher) typ(t types.Type) {
	if t == nil || r.seen[t] {
		return
	}
	r.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		r.typ(types.Unalias(t))
	case *types.Named:
		for m := range t.Methods() {
			r.object(m)
		}
		for a := range t.TypeArgs().Types() {
			r.typ(a)
		}
		r.typ(t.Underlying())
	case *types.TypeParam:
		r.typ(t.Constraint())
	case *types.Struct:
		for f := range t.Fields() {
			r.object(f)
			if f.Embedded() {
				r.typ(f.Type()) // the names in an embedded field are promoted
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			r.object(m)
		}
	case *types.Signature:
		r.typ(t.Params())
		r.typ(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			r.typ(v.Type())
		}
	case *types.Map:
		r.typ(t.Key())
		r.typ(t.Elem())
	case interface{ Elem() types.Type }:
		r.typ(t.Elem())
	}
}

// May reports whether a line of the package's code may begin with the given text, judging by the
// text's words. If whole is true, the text is the whole line. May never rejects a line that
// compiles.
func (w *Words) May(text string, whole bool) bool {
	s := speller{words: w, text: text, whole: whole, declares: true}
	for s.at < len(text) && !s.refused && !s.free {
		s.next()
	}
	return !s.refused && (s.free || !whole || len(s.fresh) == 0)
}

// A speller scans the words of a line.
type speller struct {
	words    *Words
	text     string
	whole    bool
	at       int
	declares bool     // in a list of names that := may declare
	fresh    []string // unknown names in that list
	declared []string // names declared on this line
	refused  bool
	free     bool // any text may follow
}

func (s *speller) next() {
	switch c := s.text[s.at]; {
	case isWordByte(c):
		s.word()
	case c == '"' || c == '\'' || c == '`':
		s.quoted(c)
		s.other()
	case c == ' ' || c == '\t' || c == ',':
		s.at++
	case c == ':' && s.at+1 == len(s.text) && !s.whole:
		s.at++ // an equals sign may follow
	case strings.HasPrefix(s.text[s.at:], ":="):
		s.declared, s.fresh, s.declares = append(s.declared, s.fresh...), nil, false
		s.at += 2
	case strings.HasPrefix(s.text[s.at:], "//") || strings.HasPrefix(s.text[s.at:], "/*"):
		s.other()
		s.free = true
	default:
		s.other()
		s.declares = c == ';' || c == '{'
		s.at++
	}
}

// other ends a list of names that turns out to declare none of them.
func (s *speller) other() { s.refused, s.declares = s.refused || len(s.fresh) > 0, false }

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func (s *speller) word() {
	from := s.at
	for s.at < len(s.text) && isWordByte(s.text[s.at]) {
		s.at++
	}
	word, open := s.text[from:s.at], s.at == len(s.text) && !s.whole
	switch {
	case word[0] >= '0' && word[0] <= '9':
		s.other()
	case !s.known(word, open):
		s.fresh = append(s.fresh, word)
		s.refused = !s.declares
	case !open && token.IsKeyword(word):
		s.keyword(word)
	}
}

func (s *speller) known(word string, open bool) bool {
	if s.words.whole[word] || open && s.words.begins[word] {
		return true
	}
	for _, d := range s.declared {
		if d == word || open && strings.HasPrefix(d, word) {
			return true
		}
	}
	return false
}

func (s *speller) keyword(word string) {
	s.other()
	switch word {
	case "for", "if", "switch", "case", "else":
		s.declares = true
	case "func", "var", "const", "type", "struct", "interface": // these keywords declare names in other ways
		s.free = true
	}
}

// quoted skips a literal, which may be incomplete.
func (s *speller) quoted(quote byte) {
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\' && quote != '`':
			s.at++
		case c == quote:
			s.at++
			return
		}
	}
	s.at = len(s.text)
}
