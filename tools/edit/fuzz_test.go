package edit

import (
	"errors"
	"path"
	"slices"
	"strings"
	"testing"
)

// Evidence: edit · An edit applies where it should, or says why not; none is wrong
func FuzzReplace(f *testing.F) {
	f.Add("a\nb\nc\n", "b", "x", "", false)
	f.Add("a\r\nb\nc\r\n", "a\nb\nc", "a\nx\nc", "", false)
	f.Add("\ufeffa\n\tb\n", "  a\n  \tb", "  a\n  \tc", "", false)
	f.Add("it’s\n  x  \n", "it's\nx", "it's\ny", "", true)
	f.Add("a\nb\nc\n", "1\ta\n2\tb", "1\ta\n2\tx", "a\nb\n", false)
	f.Add("p(\"a\\n\")\nb\n", `p("a\n")\nb`, `p("a\n")\nx\nb`, "", false)
	f.Add("alpha()\nbeta()\ngamma()\n", "alpha()\nbta()\ngamma()", "alpha()\nbeta()\nnew()\ngamma()", "alpha()\nbeta()\n", false)
	f.Add("    a\n        b\n", "\ta\n\t\tb", "\ta\n\t\tb\n\t\tc", "", false)
	f.Add("aaaa", "aa", "a", "", true)
	f.Add("\r\n\r", "\r", "\n", "\n", false)
	f.Fuzz(func(t *testing.T, content, old, new, base string, all bool) {
		r := Replacement{Old: old, New: new, Base: base, All: all}
		res, err := Replace(content, r)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Kind == "" || e.Error() == "" || res.Content != "" {
				t.Fatalf("refused with %#v and result %q", err, res.Content)
			}
			return
		}
		if res.Content == content || res.Strategy == "" || res.Count == 0 || res.Line < 1 {
			t.Fatalf("made without effect: %+v", res)
		}
		if again, err := Replace(content, r); err != nil || again.Content != res.Content {
			t.Fatalf("the second time: %q, %v", again.Content, err)
		}
		if base != "" || old == "" || strings.Contains(content+old+new, "\r") || strings.HasPrefix(content+old, bom) || strings.HasPrefix(old, bom) {
			return
		}
		switch at := occurrences(content, old); {
		case len(at) == 0:
		case all && res.Strategy == "exact" && res.Content != strings.ReplaceAll(content, old, new):
			t.Fatalf("not all replaced: %q", res.Content)
		case res.Strategy != "exact": // the match began in the indentation of a line
		case !all && (len(at) > 1 || res.Content != strings.Replace(content, old, new, 1)):
			t.Fatalf("%d exact matches: %q", len(at), res.Content)
		}
	})
}

func FuzzApplyPatch(f *testing.F) {
	const a, b = "1\n2\n3\n2\n", "package p\r\n\r\nfunc f() {\r\n\tx\r\n}"
	for _, sections := range [][]string{
		{"*** Update File: a", "@@", " 1", "-2", "+x", " 3"},
		{"*** Update File: b", "*** Move to: c", "@@ func f()", "-\tx", "+\ty", "*** End of File"},
		{"*** Add File: c", "+1", "*** Delete File: a"},
		{"*** Update File: a", "@@", "-2", "+x", "@@", "-2", "+y"},
		{"*** Update File: ./a", "@@", "+x"},
		{"*** Update File: ../a", "@@", "", " 1", "-2"},
		{"*** Update File: b", "@@ x", "@@ y", "     x", "+z", "\\ No newline at end of file"},
	} {
		f.Add(envelope(sections...), a, b)
	}
	f.Add("*** Begin Patch\n*** End Patch", "", "")
	f.Fuzz(func(t *testing.T, patch, a, b string) {
		fsys := files{"a": a, "b": b}
		cs, err := ApplyPatch(fsys.read, patch)
		if err != nil {
			if cs != nil || KindOf(err) == "" {
				t.Fatalf("refused with %v and changes %v", err, cs)
			}
			return
		}
		p, err := ParsePatch(patch)
		if err != nil || len(cs) == 0 {
			t.Fatalf("applied, but: %v", err)
		}
		writes := p.Writes()
		for _, c := range cs {
			for _, name := range []string{c.Path, c.MovedFrom} {
				if name != "" && (!slices.Contains(writes, name) || path.IsAbs(name) || path.Clean(name) != name || strings.HasPrefix(name, "..")) {
					t.Fatalf("bad path %q; declared %q", name, writes)
				}
			}
			old, ok := fsys[c.Path]
			if isNew := c.Added || c.MovedFrom != ""; isNew == ok || ok && !c.Delete && old == string(c.Content) {
				t.Fatalf("change without effect: %+v", c)
			}
		}
	})
}

// bare returns a text without what a merge does not count as a change: byte order mark, line
// endings, final newline.
func bare(s string) string {
	s, _ = cutBOM(s)
	return strings.TrimSuffix(strings.ReplaceAll(s, "\r", ""), lf)
}

func FuzzMerge(f *testing.F) {
	f.Add("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n")
	f.Add("a\nb\nc", "a\nb\nc\n", "x\na\nb\nc")
	f.Add("a\r\nb\r\n", "a\nb\nc\n", "b\r\n")
	f.Add("", "x", "x\ny")
	f.Add("}\n}\n}\n", "}\n}\n", "}\n}\n}\n}\n")
	f.Fuzz(func(t *testing.T, base, ours, theirs string) {
		got, err := Merge(base, ours, theirs)
		back, err2 := Merge(base, theirs, ours)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("one way %v, the other way %v", err, err2)
		}
		if err != nil {
			if KindOf(err) != Conflict || got != "" {
				t.Fatalf("%v with %q", err, got)
			}
			return
		}
		if bare(got) != bare(back) {
			t.Fatalf("one way %q, the other way %q", got, back)
		}
		if same, err := Merge(ours, ours, theirs); err != nil || bare(same) != bare(theirs) {
			t.Fatalf("nothing of ours: %q, %v", same, err)
		}
		if same, err := Merge(theirs, ours, theirs); err != nil || same != ours {
			t.Fatalf("nothing of theirs: %q, %v", same, err)
		}
	})
}
