package shelleffects

import (
	"regexp"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// agree compares what the parser made of a command line with the words that [scanner] finds in it.
// It returns why a shell may read the text otherwise than the parser, or "". The words must be the
// same, and each must belong to the same command or begin another one.
func agree(src string, file *syntax.File) string {
	const why = "is written in a way that shells may read differently: "
	s := &scanner{src: src}
	if err := s.commands(false); err != nil {
		return why + err.Error()
	}
	p := &reading{ends: map[int]int{}, begins: map[int]bool{}, apart: map[int]bool{}, skip: map[syntax.Node]bool{}}
	syntax.Walk(file, p.visit)
	grammar := "" // the word before, if the parser took it for part of a compound command
	for _, t := range s.words {
		text := src[t.from:t.to]
		if p.ends[t.from] != t.to {
			if !reserved[text] && !(text == "-p" && grammar == "time") && !p.testOperator(t, text) {
				return why + "the word " + text
			}
			grammar = text
			continue
		}
		begins, apart := p.begins[t.from], p.apart[t.from]
		if !apart && (begins && !t.first && grammar == "" || !begins && t.first) {
			return why + "the command of the word " + text
		}
		delete(p.ends, t.from)
		grammar = ""
	}
	if len(p.ends) > 0 {
		return why + "words that only one reader sees"
	}
	if !slices.EqualFunc(p.bodies, s.bodies, func(a, b token) bool { return a.from == b.from && a.to == b.to }) {
		return why + "a here-document"
	}
	return ""
}

// A reading lists the words that the parser found, by the offset of their first byte.
type reading struct {
	ends   map[int]int  // offsets of their ends
	begins map[int]bool // the first words of simple commands
	apart  map[int]bool // words that belong to no simple command and may follow a separator
	tests  []token      // the extents of [[ ]]
	bodies []token      // here-documents
	skip   map[syntax.Node]bool
}

func (p *reading) add(n syntax.Node) int {
	from := int(n.Pos().Offset())
	p.ends[from] = int(n.End().Offset())
	return from
}

// visit records the words of a node. Inside ${ }, arithmetic and here-documents there are none: the
// scanner takes those as they are.
func (p *reading) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.ParamExp, *syntax.ArithmExp:
		return false
	case *syntax.Stmt:
		p.statement(n)
	case *syntax.Redirect:
		p.redirect(n)
	case *syntax.WordIter:
		p.add(n.Name)
	case *syntax.CaseClause:
		p.apart[p.add(n.Word)] = true
		for _, item := range n.Items {
			for _, w := range item.Patterns {
				p.apart[p.add(w)] = true
			}
		}
	case *syntax.TestClause:
		p.tests = append(p.tests, token{from: int(n.Pos().Offset()), to: int(n.End().Offset())})
	case *syntax.Assign:
		p.add(n)
		if n.Value != nil {
			p.skip[n.Value] = true
		}
	case *syntax.Word:
		if p.skip[n] {
			return true
		}
		p.add(n)
	}
	return true
}

// statement marks the first word of a simple command.
func (p *reading) statement(s *syntax.Stmt) {
	var at []int
	switch c := s.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		for _, a := range c.Assigns {
			at = append(at, int(a.Pos().Offset()))
		}
		for _, a := range c.Args {
			at = append(at, int(a.Pos().Offset()))
		}
	default:
		return
	}
	for _, r := range s.Redirs {
		at = append(at, int(r.Word.Pos().Offset()))
	}
	if len(at) > 0 {
		p.begins[slices.Min(at)] = true
	}
}

// redirect records a here-document, whose text holds no words.
func (p *reading) redirect(r *syntax.Redirect) {
	switch {
	case r.Op != syntax.Hdoc && r.Op != syntax.DashHdoc:
	case r.Hdoc == nil:
		p.bodies = append(p.bodies, token{})
	default:
		p.skip[r.Hdoc] = true
		p.bodies = append(p.bodies, token{from: int(r.Hdoc.Pos().Offset()), to: int(r.Hdoc.End().Offset())})
	}
}

var testOperators = regexp.MustCompile(`^(?:!|-[a-zA-Z]{1,2}|==?|!=|=~)$`)

func (p *reading) testOperator(t token, text string) bool {
	return testOperators.MatchString(text) && slices.ContainsFunc(p.tests, func(c token) bool { return c.from < t.from && t.to < c.to })
}
