package toolformat

import (
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// Write returns the text of calls in the form in which a model of this format writes them. A parser
// of the format reads the same calls from it.
func (f *Format) Write(calls []Call) string {
	rules := make([]*Rule, len(calls))
	for i, c := range calls {
		args, err := jsontree.Parse(c.Args)
		if err != nil || args.Kind != jsontree.Object {
			args = jsontree.NewObject()
		}
		rules[i] = f.callRule(f.callWrap(), c.Name, f.writtenArgs(args), lit(strconv.Itoa(i)), lit(quote(c.ID)))
	}
	if len(rules) == 0 {
		return ""
	}
	if ch := f.Channels; ch != nil {
		for i, c := range calls {
			rules[i] = f.channelRule(c.Name, rules[i])
		}
		return joinRules(rules, ch.Next).written()
	}
	return f.message(f.section(), rules).written()
}

// channelRule matches a message to a function, including the call in it.
func (f *Format) channelRule(name string, call *Rule) *Rule {
	ch := f.Channels
	head := alt()
	for _, to := range ch.ToCall {
		head.Parts = append(head.Parts, lit(strings.ReplaceAll(to, "$", name)+ch.Message))
	}
	if len(f.Sections) == 0 {
		return seq(head, call)
	}
	return seq(head, f.inSection(f.section(), call))
}

// section returns the format's first pair of section markers, if there is one.
func (f *Format) section() Wrap {
	if len(f.Sections) == 0 {
		return Wrap{}
	}
	return f.Sections[0]
}

// callWrap returns the format's first pair of call markers, if there is one.
func (f *Format) callWrap() Wrap {
	if len(f.Calls) == 0 {
		return Wrap{}
	}
	return f.Calls[0]
}

// message puts all calls into one section, or each call into its own section.
func (f *Format) message(section Wrap, calls []*Rule) *Rule {
	l := f.Layout
	if l.One {
		for i, c := range calls {
			calls[i] = f.inSection(section, c)
		}
		return joinRules(calls, l.Sep)
	}
	return f.inSection(section, joinRules(calls, l.Sep))
}

// joinRules puts a separator between rules.
func joinRules(rules []*Rule, sep string) *Rule {
	all := seq()
	for i, r := range rules {
		if i > 0 {
			all = seq(all, layout(sep))
		}
		all = seq(all, r)
	}
	return all
}

// inSection puts the markers of a section around calls.
func (f *Format) inSection(w Wrap, calls *Rule) *Rule {
	l := f.Layout
	if f.Syntax == Object && len(f.Calls) > 0 { // the call's markers enclose the object
		w = f.Calls[0]
	}
	lead, tail := layout(l.Lead), layout(l.Tail)
	if l.List {
		lead, tail = seq(space(), lit("["), lead), seq(tail, lit("]"))
	} else if l.Lead == "" && w.Open != "" {
		lead = space()
	}
	return seq(lit(w.Open), lead, calls, tail, lit(w.Close))
}

// anyID is the pattern of ids that every known template accepts.
const anyID = `[a-zA-Z0-9]{9}`

// callRule matches one call. The rule args matches the arguments as they are written in the
// format's syntax.
func (f *Format) callRule(w Wrap, name string, args, number, id *Rule) *Rule {
	l := f.Layout
	switch f.Syntax {
	case Object:
		return f.objectRule(name, args, id)
	case Python:
		return seq(lit(name+"("), args, lit(")"))
	}
	if f.Channels != nil && w.Open == "" {
		return args
	}
	h := f.Head
	head := seq(lit(w.Open + h.Prefix + name))
	if h.Index != "" {
		head = seq(head, lit(h.Index), number)
	}
	switch {
	case h.Cut != "" && !h.CutID:
		head = seq(head, lit(h.Cut))
	case h.CutID && id.Kind != Lit: // the id is optional
		head = seq(head, opt(seq(lit(h.Cut), regex(anyID))))
	}
	if before, after, ok := strings.Cut(l.Attrs, "#"); ok {
		head = seq(head, lit(before), number, lit(after))
	}
	if len(h.End) > 0 {
		if end := lit(h.End[0]); len(h.Peek) > 0 {
			end := layout(h.End[0])
			if h.CutID { // some models leave it out
				end = opt(end)
			}
			head = seq(head, end)
		} else {
			head = seq(head, end)
		}
	}
	after := layout(l.ArgsEnd)
	if f.Syntax == Params {
		after = nil
	}
	return seq(head, layout(l.Args), args, after, lit(w.Close+l.CallEnd))
}

// objectRule matches a call of the Object syntax.
func (f *Format) objectRule(name string, args, id *Rule) *Rule {
	l := f.Layout
	colon, comma := seq(lit(":"), opt(lit(" "))), seq(lit(","), opt(lit(" ")))
	if f.NameIsKey {
		return seq(lit("{"+quote(name)), colon, args, lit("}"))
	}
	nameKey, argsKey := "name", "arguments"
	if l.Name != "" {
		nameKey = l.Name
	}
	if l.Arguments != "" {
		argsKey = l.Arguments
	}
	r := seq(lit(quote(nameKey)), colon, lit(quote(name)), comma, lit(quote(argsKey)), colon, args)
	switch {
	case l.ID != "" && l.IDFirst:
		r = seq(lit(quote(l.ID)), colon, id, comma, r)
	case l.ID != "":
		r = seq(r, comma, lit(quote(l.ID)), colon, id)
	}
	return seq(lit("{"), r, lit("}"))
}

// paramRule matches an argument of the Params syntax. The parameter kind is the JSON type named by
// its attribute, or "string" for strings.
func (f *Format) paramRule(key, kind string, value *Rule) *Rule {
	p := f.Param
	head := p.Open + key + p.Cut
	switch {
	case p.Attr == "":
	case kind == "string":
		head += " " + p.IsString
	default:
		head += " " + strings.ReplaceAll(p.Attr, "$", kind)
	}
	line := ""
	if p.Lines {
		line = "\n"
	}
	return seq(lit(head), layout(f.Layout.Key), lit(p.End+line), value, lit(line+p.closing(key)), layout(f.Layout.ArgsEnd))
}

// writtenArgs returns arguments written in the format's syntax.
func (f *Format) writtenArgs(args *jsontree.Value) *Rule {
	switch f.Syntax {
	case Params:
		all := seq()
		for _, m := range args.Members {
			text, kind := string(m.Value.JSON()), typeName(m.Value)
			if kind == "string" {
				text = m.Value.Text()
			}
			if f.Param.CDATA && strings.ContainsAny(text, "<&\n") {
				text = cdataOpen + text + cdataClose
			}
			all = seq(all, f.paramRule(m.Key, kind, lit(text)))
		}
		return all
	case Python:
		var list []*Rule
		for _, m := range args.Members {
			list = append(list, lit(m.Key+"="+string(m.Value.JSON())))
		}
		return joinRules(list, ", ")
	case Loose:
		return lit(f.looseText(args))
	}
	return lit(string(args.JSON()))
}

// looseText returns a value in the Loose syntax.
func (f *Format) looseText(v *jsontree.Value) string {
	switch v.Kind {
	case jsontree.String:
		if s := v.Text(); !strings.Contains(s, f.Quote) {
			return f.Quote + s + f.Quote
		}
	case jsontree.Object:
		list := make([]string, len(v.Members))
		for i, m := range v.Members {
			key := m.Key
			if key == "" || strings.ContainsAny(key, f.Quote+"{}[]:,=()\"' \t\r\n") {
				key = quote(key)
			}
			list[i] = key + ":" + f.looseText(m.Value)
		}
		return "{" + strings.Join(list, ",") + "}"
	case jsontree.Array:
		list := make([]string, len(v.Items))
		for i, item := range v.Items {
			list[i] = f.looseText(item)
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	return string(v.JSON())
}
