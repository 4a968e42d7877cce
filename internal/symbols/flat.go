package symbols

import (
	"bytes"
	"strings"
)

// readLines reads shell and SQL, whose definitions do not nest.
func (r *reader) readLines() {
	for i := range r.toks {
		if !r.toks[i].first {
			continue
		}
		if r.fam.syntax.shell {
			r.shellFunction(i)
		} else {
			r.sqlCreate(i)
		}
	}
}

func (r *reader) shellFunction(i int) {
	name := i
	if r.is(i, "function") {
		name++
	}
	if r.kind(name) != tokIdent {
		return
	}
	from, to := name, name+1 // names may contain dashes: a-b
	for (r.kind(to) == '-' || r.kind(to) == tokOp || r.kind(to) == ':' || r.kind(to) == '.') && r.kind(to+1) == tokIdent && r.toks[to-1].to == r.toks[to].from && r.toks[to].to == r.toks[to+1].from {
		to += 2
	}
	whole := r.src[r.toks[from].from:r.toks[to-1].to]
	parens := r.kind(to) == '(' && r.kind(to+1) == ')'
	if name == i && !parens {
		return
	}
	if parens {
		to += 2
	}
	d := r.def(Func, name, i, to)
	d.Name = r.name(whole)
	if r.kind(to) == '{' {
		d.EndLine = r.closing(to)
	}
	r.defs = append(r.defs, d)
}

// closing returns the line of the brace that closes the one at i: the first closing brace that is
// indented like the line of the opening brace.
func (r *reader) closing(i int) int {
	first := i
	for first > 0 && !r.toks[first].first {
		first--
	}
	indent := r.column(first)
	for j := i + 1; j < len(r.toks); j++ {
		if r.toks[j].kind == '}' && (r.toks[j].line == r.toks[i].line || r.toks[j].first && r.column(j) == indent) {
			return int(r.toks[j].line)
		}
		if r.toks[j].first && (r.is(j, "function") || r.column(j) <= indent && r.kind(j+1) == '(' && r.kind(j+2) == ')') {
			break // another function begins, so this one has no such brace
		}
	}
	return int(r.toks[i].line)
}

var sqlKinds = map[string]string{
	"table": Struct, "view": Struct, "index": Const, "function": Func, "procedure": Func, "trigger": Func, "type": Type, "schema": Module, "sequence": Const,
}

// sqlCreate handles CREATE ... TABLE name.
func (r *reader) sqlCreate(i int) {
	if !strings.EqualFold(string(r.text(r.toks[i])), "create") {
		return
	}
	kind, end := "", min(i+20, len(r.toks))
	for j := i + 1; j < end; j++ {
		if r.kind(j) != tokIdent && r.kind(j) != tokString && r.kind(j) != '[' {
			return
		}
		word := strings.ToLower(string(r.text(r.toks[j])))
		switch {
		case kind == "":
			kind = sqlKinds[word]
		case word == "if" || word == "not" || word == "exists" || word == "[":
		default:
			for r.kind(j+1) == '.' && j+2 < len(r.toks) {
				j += 2
			}
			d := r.def(kind, j, i, j+1)
			d.Name, d.Exported = strings.Trim(d.Name, "\"'[]"), true
			for k := j; k < len(r.toks) && k < j+maxHead; k++ {
				d.EndLine = int(r.toks[k].line)
				if r.kind(k) == ';' || k+1 < len(r.toks) && r.toks[k+1].first && strings.EqualFold(string(r.text(r.toks[k+1])), "create") {
					break
				}
			}
			if d.Name != "" {
				r.defs = append(r.defs, d)
			}
			return
		}
	}
}

// markdownHeadings returns the headings outside of code blocks. A heading extends to the next one
// of its level.
func markdownHeadings(src []byte) []Def {
	var out []Def
	var open []int // indexes into out, by nesting
	var levels []int
	fence := ""
	n := 0
	for line := range bytes.Lines(src) {
		n++
		line = bytes.TrimRight(line, "\r\n \t")
		trimmed := bytes.TrimLeft(line, " ")
		if f := fenceOf(trimmed); f != "" && (fence == "" || strings.HasPrefix(f, fence) && len(f) == len(trimmed)) {
			if fence == "" {
				fence = f
			} else {
				fence = ""
			}
			continue
		}
		level := len(trimmed) - len(bytes.TrimLeft(trimmed, "#"))
		if fence != "" || len(line)-len(trimmed) > 3 || level == 0 || level > 6 || level >= len(trimmed) || trimmed[level] != ' ' && trimmed[level] != '\t' {
			continue
		}
		name := strings.TrimSpace(strings.TrimRight(string(bytes.ToValidUTF8(trimmed[level:], nil)), "#"))
		if name == "" {
			continue
		}
		for len(open) > 0 && levels[len(levels)-1] >= level {
			out[open[len(open)-1]].EndLine = n - 1
			open, levels = open[:len(open)-1], levels[:len(levels)-1]
		}
		d := Def{Name: name, Kind: Heading, Signature: OneLine(trimmed), StartLine: n, Line: n, EndLine: n, Depth: len(open), Exported: true}
		if len(open) > 0 {
			d.Container = out[open[len(open)-1]].FullName()
		}
		out = append(out, d)
		open, levels = append(open, len(out)-1), append(levels, level)
	}
	for _, i := range open {
		out[i].EndLine = n
	}
	return out
}

// fenceOf returns the run of marks that opens or closes a code block.
func fenceOf(line []byte) string {
	if len(line) < 3 || line[0] != '`' && line[0] != '~' {
		return ""
	}
	n := 0
	for n < len(line) && line[n] == line[0] {
		n++
	}
	if n < 3 {
		return ""
	}
	return string(line[:n])
}
