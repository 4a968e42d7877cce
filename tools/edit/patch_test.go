package edit

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// files is an in-memory file system for ApplyPatch.
type files map[string]string

func (f files) read(name string) ([]byte, error) {
	s, ok := f[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(s), nil
}

// after returns the files with the changes made.
func (f files) after(cs []FileChange) files {
	out := files{}
	for k, v := range f {
		out[k] = v
	}
	for _, c := range cs {
		if c.Delete {
			delete(out, c.Path)
			continue
		}
		if c.MovedFrom != "" {
			delete(out, c.MovedFrom)
		}
		out[c.Path] = string(c.Content)
	}
	return out
}

// envelope puts the begin and end marks around the sections of a patch.
func envelope(sections ...string) string {
	return "*** Begin Patch\n" + strings.Join(sections, "\n") + "\n*** End Patch\n"
}

const twoFuncs = `package p

func a() int {
	x := 1
	return x
}

func b() int {
	x := 1
	return x
}
`

// Evidence: edit · A patch applies as a whole or not at all
func TestApplyPatch(t *testing.T) {
	for _, tc := range []struct {
		name  string
		in    files
		patch string
		want  files
	}{
		{"add", files{}, envelope("*** Add File: d/a.txt", "+one", "+", "+two"), files{"d/a.txt": "one\n\ntwo\n"}},
		{"add empty", files{}, envelope("*** Add File: __init__.py"), files{"__init__.py": ""}},
		{"delete", files{"a": "x", "b": "y"}, envelope("*** Delete File: a"), files{"b": "y"}},
		{"update", files{"a": "1\n2\n3\n"}, envelope("*** Update File: a", "@@", " 1", "-2", "+two", " 3"), files{"a": "1\ntwo\n3\n"}},
		{"update without @@", files{"a": "1\n2\n3\n"}, envelope("*** Update File: a", " 1", "-2", " 3"), files{"a": "1\n3\n"}},
		{"several hunks", files{"a": "1\n2\n3\n4\n"}, envelope("*** Update File: a", "@@", "-2", "+two", "@@", "-4", "+four"), files{"a": "1\ntwo\n3\nfour\n"}},
		{"hunks out of order", files{"a": "1\n2\n3\n4\n"}, envelope("*** Update File: a", "@@", "-4", "+four", "@@", "-2", "+two"), files{"a": "1\ntwo\n3\nfour\n"}},
		{"move only", files{"a": "1\n"}, envelope("*** Update File: a", "*** Move to: d/b"), files{"d/b": "1\n"}},
		{"move and change", files{"a": "1\n"}, envelope("*** Update File: a", "*** Move to: b", "@@", "-1", "+2"), files{"b": "2\n"}},
		{"all sections", files{"a": "1\n", "b": "2\n"}, envelope("*** Add File: c", "+3", "*** Update File: a", "@@", "-1", "+one", "*** Delete File: b"),
			files{"a": "one\n", "c": "3\n"}},
		{"anchored", files{"p.go": twoFuncs}, envelope("*** Update File: p.go", "@@ func b() int {", "-\tx := 1", "+\tx := 2"),
			files{"p.go": strings.Replace(twoFuncs, "func b() int {\n\tx := 1", "func b() int {\n\tx := 2", 1)}},
		{"anchored within the first of two blocks", files{"p.go": twoFuncs}, envelope("*** Update File: p.go", "@@ func a()", "-\tx := 1", "+\tx := 2"),
			files{"p.go": strings.Replace(twoFuncs, "x := 1", "x := 2", 1)}},
		{"anchor on a line of the hunk", files{"p.go": twoFuncs}, envelope("*** Update File: p.go", "@@ func b() int {", " func b() int {", "-\tx := 1", "+\tx := 2"),
			files{"p.go": strings.Replace(twoFuncs, "func b() int {\n\tx := 1", "func b() int {\n\tx := 2", 1)}},
		{"nested anchors", files{"p.py": "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n"},
			envelope("*** Update File: p.py", "@@ class B:", "@@     def f(self):", "-        return 1", "+        return 2"),
			files{"p.py": "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 2\n"}},
		{"the same hunk for each of two places", files{"p.go": twoFuncs}, envelope("*** Update File: p.go", "@@", "-\tx := 1", "+\tx := 2", "@@", "-\tx := 1", "+\tx := 3"),
			files{"p.go": strings.Replace(strings.Replace(twoFuncs, "x := 1", "x := 2", 1), "x := 1", "x := 3", 1)}},
		{"order leaves one place", files{"p.go": twoFuncs}, envelope("*** Update File: p.go", "@@", "-func b() int {", "+func c() int {", "@@", "-\tx := 1", "+\tx := 2"),
			files{"p.go": strings.Replace(twoFuncs, "func b() int {\n\tx := 1", "func c() int {\n\tx := 2", 1)}},
		{"end of file", files{"a": "x\ny\nx\n"}, envelope("*** Update File: a", "@@", "-x", "+z", "*** End of File"), files{"a": "x\ny\nz\n"}},
		{"end of file where one place fits", files{"a": "x\ny\n\n"}, envelope("*** Update File: a", "@@", "-y", "+z", "*** End of File"), files{"a": "x\nz\n\n"}},
		{"end of file fits worse than another place", files{"a": "y\nx\n  y\n"}, envelope("*** Update File: a", "@@", "-y", "+z", "*** End of File"), files{"a": "y\nx\n  z\n"}},
		{"indented end of file", files{"a": "x\ny\nx\n"}, envelope("*** Update File: a", "@@", "-x", "+z", " *** End of File"), files{"a": "x\ny\nz\n"}},
		{"indented end mark", files{"a": "x\n"}, "*** Begin Patch\n*** Update File: a\n@@\n-x\n+z\n  *** End Patch  \n", files{"a": "z\n"}},
		{"blank line before @@", files{"a": "1\n2\n3\n"}, envelope("*** Update File: a", "", "@@", "-1", "+one", "", "  ", "@@", "-3", "+three"), files{"a": "one\n2\nthree\n"}},
		{"blank line before @@ after a move", files{"a": "1\n"}, envelope("*** Update File: a", "*** Move to: b", "", "@@", "-1", "+one"), files{"b": "one\n"}},
		{"blank line after end of file", files{"a": "1\n2\n"}, envelope("*** Update File: a", "@@", "-2", "+two", "*** End of File", "", "@@", "-1", "+one"), files{"a": "one\ntwo\n"}},
		{"two sections for a file", files{"a": "1\n2\n3\n"}, envelope("*** Update File: a", "@@", "-1", "+one", "*** Update File: ./a", "@@", " one", "-2", "+two"), files{"a": "one\ntwo\n3\n"}},
		{"two sections with another between", files{"a": "1\n2\n", "b": "x\n"}, envelope("*** Update File: a", "@@", "-1", "+one", "*** Delete File: b", "*** Update File: a", "@@", "-2", "+two"), files{"a": "one\ntwo\n"}},
		{"added and updated", files{}, envelope("*** Add File: a", "+1", "*** Update File: a", "@@", "-1", "+2"), files{"a": "2\n"}},
		{"deleted and added", files{"a": "1\n"}, envelope("*** Delete File: a", "*** Add File: a", "+2"), files{"a": "2\n"}},
		{"moved and updated", files{"a": "1\n"}, envelope("*** Update File: a", "*** Move to: b", "*** Update File: b", "@@", "-1", "+2"), files{"b": "2\n"}},
		{"updated and moved", files{"a": "1\n2\n"}, envelope("*** Update File: a", "@@", "-1", "+one", "*** Update File: a", "*** Move to: b", "@@", "-2", "+two"), files{"b": "one\ntwo\n"}},
		{"moved twice", files{"a": "1\n"}, envelope("*** Update File: a", "*** Move to: b", "*** Update File: b", "*** Move to: c"), files{"c": "1\n"}},
		{"additions for the last block", files{"a": "def f():\n    x\n\ndef g():\n    y\n"}, envelope("*** Update File: a", "@@ def g():", "+    z"), files{"a": "def f():\n    x\n\ndef g():\n    y\n    z\n"}},
		{"additions behind the last block", files{"p.go": twoFuncs}, envelope("*** Update File: p.go", "@@ func b() int {", "+", "+func c() {}"), files{"p.go": twoFuncs + "\nfunc c() {}\n"}},
		{"additions for the last line", files{"a": "x\ny\n"}, envelope("*** Update File: a", "@@ y", "+z"), files{"a": "x\ny\nz\n"}},
		{"additions before the empty last line", files{"a": "x\n\n"}, envelope("*** Update File: a", "+y"), files{"a": "x\ny\n\n"}},
		{"append", files{"a": "x\n"}, envelope("*** Update File: a", "@@", "+y"), files{"a": "x\ny\n"}},
		{"append at end of file", files{"a": "x"}, envelope("*** Update File: a", "@@", "+y", "*** End of File"), files{"a": "x\ny"}},
		{"into an empty file", files{"a": ""}, envelope("*** Update File: a", "@@", "+y"), files{"a": "y\n"}},
		{"no final newline", files{"a": "x\ny"}, envelope("*** Update File: a", "@@", " x", "-y", "+z"), files{"a": "x\nz"}},
		{"crlf file", files{"a": "x\r\ny\r\nz\r\n"}, envelope("*** Update File: a", "@@", " x", "-y", "+1", "+2", " z"), files{"a": "x\r\n1\r\n2\r\nz\r\n"}},
		{"cr file", files{"a": "x\ry\r"}, envelope("*** Update File: a", "@@", " x", "+z"), files{"a": "x\rz\ry\r"}},
		{"cr patch", files{"a": "x\ny\n"}, strings.ReplaceAll(envelope("*** Update File: a", "@@", "-x", "+z"), "\n", "\r"), files{"a": "z\ny\n"}},
		{"crlf in the new lines", files{"a": "x\ny\n"}, envelope("*** Update File: a", "@@", "-x", "+z\r", "+w\r"), files{"a": "z\nw\ny\n"}},
		{"crlf in the old lines", files{"a": "x\ny\n"}, envelope("*** Update File: a", "@@", "-x\r", " y\r", "+z"), files{"a": "y\nz\n"}},
		{"crlf patch", files{"a": "x\ny\n"}, strings.ReplaceAll(envelope("*** Update File: a", "@@", "-x", "+z"), "\n", "\r\n"), files{"a": "z\ny\n"}},
		{"byte order mark", files{"a": bom + "x\ny\n"}, envelope("*** Update File: a", "@@", "-x", "+z"), files{"a": bom + "z\ny\n"}},
		{"trailing space in the file", files{"a": "x  \ny\n"}, envelope("*** Update File: a", "@@", " x", "-y", "+z"), files{"a": "x  \nz\n"}},
		{"indentation off", files{"a": "f:\n\tx\n\ty\n"}, envelope("*** Update File: a", "@@", "     x", "-    y", "+    z", "+    w"), files{"a": "f:\n\tx\n\tz\n\tw\n"}},
		{"context without indentation", files{"a": "f:\n\tx\n\ty\n\tz\n"}, envelope("*** Update File: a", "@@", " x", "-y", "+\tw", " z"), files{"a": "f:\n\tx\n\tw\n\tz\n"}},
		{"old lines without indentation", files{"a": "f:\n\tif x {\n\t\ty\n\t}\n"}, envelope("*** Update File: a", "@@", " if x {", "-y", "+\t\tz", "+\t\tw", " }"), files{"a": "f:\n\tif x {\n\t\tz\n\t\tw\n\t}\n"}},
		{"old lines dedented", files{"a": "f:\n    if x:\n        y\n"}, envelope("*** Update File: a", "@@", " if x:", "-    y", "+        z"), files{"a": "f:\n    if x:\n        z\n"}},
		{"context lines without their marker", files{"a": "f:\n    open()\n    read()\n"}, "*** Begin Patch\n*** Update File: a\n@@\n    open()\n-    read()\n+    close()\n*** End Patch", files{"a": "f:\n    open()\n    close()\n"}},
		{"entities", files{"a": "if a < b && c {\n"}, envelope("*** Update File: a", "@@", "-if a &lt; b &amp;&amp; c {", "+if a &lt; b {"), files{"a": "if a < b {\n"}},
		{"entities in the context", files{"a": "a < b\nc\n"}, envelope("*** Update File: a", "@@", " a &lt; b", "-c", "+d"), files{"a": "a < b\nd\n"}},
		{"entities on purpose", files{"a": "a & b\n"}, envelope("*** Update File: a", "@@", "-a & b", "+a &amp; b"), files{"a": "a &amp; b\n"}},
		{"dash in a word that changes", files{"a": "range—end x\n"}, envelope("*** Update File: a", "@@", "-range-end x", "+range->end x"), files{"a": "range->end x\n"}},
		{"blank context without its space", files{"a": "x\n\ny\n"}, "*** Begin Patch\n*** Update File: a\n@@\n x\n\n-y\n+z\n*** End Patch", files{"a": "x\n\nz\n"}},
		{"blank context that is not there", files{"a": "x\ny\n"}, envelope("*** Update File: a", "@@", " ", " x", "-y", "+z", " "), files{"a": "x\nz\n"}},
		{"overlapping context", files{"a": "1\n2\n3\n4\n5\n"}, envelope("*** Update File: a", "@@", " 1", "-2", "+b", " 3", "@@", " 3", "-4", "+d", " 5"), files{"a": "1\nb\n3\nd\n5\n"}},
		{"header of a unified diff", files{"a": "1\n2\n"}, envelope("*** Update File: a", "@@ -1,2 +1,2 @@ func x()", " 1", "-2", "+3"), files{"a": "1\n3\n"}},
		{"here-document", files{"a": "1\n"}, "apply_patch <<'EOF'\n" + envelope("*** Update File: a", "@@", "-1", "+2") + "EOF\n", files{"a": "2\n"}},
		{"code fence", files{"a": "1\n"}, "```\n" + envelope("*** Update File: a", "@@", "-1", "+2") + "```\n", files{"a": "2\n"}},
		{"padded header", files{"a": "1\n"}, envelope("  *** Update File: a", "@@", "-1", "+2"), files{"a": "2\n"}},
		{"blank line between sections", files{"a": "1\n"}, envelope("*** Update File: a", "@@", "-1", "+2", "", "*** Add File: b", "+x", ""), files{"a": "2\n", "b": "x\n"}},
		{"dollars", files{"a": "1\n"}, envelope("*** Update File: a", "@@", "-1", "+$1 $& \\1"), files{"a": "$1 $& \\1\n"}},
		{"dot path", files{"d/a": "1\n"}, envelope("*** Update File: ./d//a", "@@", "-1", "+2"), files{"d/a": "2\n"}},
		{"change of case", files{"readme": "1\n"}, envelope("*** Update File: readme", "*** Move to: README"), files{"README": "1\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cs, err := ApplyPatch(tc.in.read, tc.patch)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, tc.in.after(cs)); d != "" {
				t.Errorf("files after the patch (-want +got):\n%s", d)
			}
		})
	}
}

func TestApplyPatchRefuses(t *testing.T) {
	abc := files{"a": "1\n2\n3\n2\n", "b": "x\n", "p.go": twoFuncs, "p.py": "def f():\n    a()\n"}
	for _, tc := range []struct {
		name, patch string
		kind        Kind
		text        string // must be in the message
	}{
		{"empty", "", Malformed, "no *** Begin Patch"},
		{"prose first", "Here it is\n" + envelope("*** Delete File: a"), Malformed, "patch line 1"},
		{"cut off", "*** Begin Patch\n*** Update File: a\n@@\n-1\n+one\n", Malformed, "cut off"},
		{"nothing in it", envelope(), Malformed, "no file sections"},
		{"stray line", envelope("hello", "*** Delete File: a"), Malformed, "patch line 2"},
		{"no prefix in an added file", envelope("*** Add File: c", "x"), Malformed, "patch line 3"},
		{"no prefix in a hunk", envelope("*** Update File: a", "@@", "-1", "+one", "\ttwo"), Malformed, "hunk 1: patch line 6"},
		{"text after a deletion", envelope("*** Delete File: a", "-1"), Malformed, "patch line 3"},
		{"update without hunks", envelope("*** Update File: a"), Malformed, "no hunks"},
		{"hunk without changes", envelope("*** Update File: a", "@@", " 1"), NoOp, "hunk 1"},
		{"no change", envelope("*** Update File: a", "@@", "-1", "+1"), NoOp, "a: "},
		{"absolute", envelope("*** Add File: /etc/passwd", "+x"), BadPath, "absolute"},
		{"drive", envelope("*** Add File: C:/x", "+x"), BadPath, "absolute"},
		{"home", envelope("*** Add File: ~/x", "+x"), BadPath, "absolute"},
		{"dots", envelope("*** Add File: d/../../x", "+x"), BadPath, ".."},
		{"dots on the way", envelope("*** Update File: d/../a", "@@", "-1", "+2"), BadPath, ".."},
		{"dots in a move", envelope("*** Update File: a", "*** Move to: ../x"), BadPath, ".."},
		{"backslash", envelope(`*** Add File: d\x`, "+x"), BadPath, "backslash"},
		{"directory", envelope("*** Add File: d/", "+x"), BadPath, "directory"},
		{"root", envelope("*** Delete File: ."), BadPath, "directory"},
		{"no path", envelope("*** Add File:  ", "+x"), Malformed, "neither"},
		{"control character", envelope("*** Add File: a\x00b", "+x"), BadPath, "control"},
		{"self move", envelope("*** Update File: a", "*** Move to: a"), BadPath, "itself"},
		{"self move by alias", envelope("*** Update File: a", "*** Move to: ./a", "@@", "-1", "+9"), BadPath, "itself"},
		{"update after a deletion", envelope("*** Delete File: a", "*** Update File: a", "@@", "-3", "+9"), BadPath, "one section"},
		{"deletion after an update", envelope("*** Update File: a", "@@", "-3", "+9", "*** Delete File: a"), BadPath, "one section"},
		{"addition after an update", envelope("*** Update File: a", "@@", "-3", "+9", "*** Add File: a", "+x"), BadPath, "one section"},
		{"update of a moved file by its old name", envelope("*** Update File: b", "*** Move to: c", "*** Update File: b", "@@", "-x", "+9"), BadPath, "one section"},
		{"second section of an added file by case", envelope("*** Add File: c", "+9", "*** Update File: C", "@@", "-9", "+8"), BadPath, "one section"},
		{"second section does not fit what the first made", envelope("*** Update File: a", "@@", "-1", "+9", "*** Update File: a", "@@", "-1", "+8"), NotFound, "a: hunk 1"},
		{"end of file is elsewhere", envelope("*** Update File: a", "@@", "-1", "+9", "*** End of File"), NotFound, "not at the end of the file"},
		{"end of file is elsewhere for all", envelope("*** Update File: p.go", "@@", "-\tx := 1", "+9", "*** End of File"), NotFound, "lines 4, 9"},
		{"additions for a block in the middle", envelope("*** Update File: p.go", "@@ func a() int {", "+func c() {}"), Malformed, "+ lines only"},
		{"additions for an @@ line that is not there", envelope("*** Update File: a", "@@ 7", "+9"), NotFound, "@@ line"},
		{"two sections by case", envelope("*** Add File: c", "+9", "*** Add File: C", "+9"), BadPath, "one section"},
		{"move onto a section", envelope("*** Update File: a", "*** Move to: b", "*** Delete File: b"), BadPath, "another"},
		{"file as directory", envelope("*** Add File: c", "+9", "*** Add File: c/d", "+9"), BadPath, "within"},
		{"directory as file", envelope("*** Add File: c/d", "+9", "*** Add File: c", "+9"), BadPath, "within"},
		{"add what is there", envelope("*** Add File: a", "+9"), Exists, "a is there"},
		{"move to what is there", envelope("*** Update File: a", "*** Move to: b"), Exists, "b is there"},
		{"update what is not", envelope("*** Update File: c", "@@", "-1", "+9"), Missing, "no such file"},
		{"delete what is not", envelope("*** Delete File: c"), Missing, "no such file"},
		{"ambiguous", envelope("*** Update File: a", "@@", "-2", "+9"), Ambiguous, "lines 2, 4"},
		{"ambiguous for several", envelope("*** Update File: a", "@@", "-1", "+9", "@@", "-2", "+9"), Ambiguous, "hunk 2"},
		{"ambiguous without indentation", envelope("*** Update File: p.go", "@@", "-    x := 1", "+    x := 2"), Ambiguous, "lines 4, 9"},
		{"context not there", envelope("*** Update File: a", "@@", " 1", "-7", "+9"), NotFound, "first difference at line 2"},
		{"second hunk not there", envelope("*** Update File: a", "@@", "-1", "+9", "@@", "-7", "+9"), NotFound, "hunk 2"},
		{"done already", envelope("*** Update File: p.go", "@@", " func a() int {", "-\tx := 0", "+\tx := 1"), AlreadyApplied, "line 3"},
		{"anchor not there", envelope("*** Update File: p.go", "@@ func c() int {", "-func a() int {", "+func d() int {"), NotFound, "@@ line"},
		{"before its anchor", envelope("*** Update File: p.go", "@@ func b() int {", "-func a() int {", "+func d() int {"), NotFound, "not after its @@"},
		{"new lines at an anchor", envelope("*** Update File: p.go", "@@ func b() int {", "+\ty := 1"), Malformed, "+ lines only"},
		{"overlapping changes", envelope("*** Update File: a", "@@", "-1", "-2", "+9", "@@", "-2", "-3", "+9"), Conflict, "hunk 2"},
		{"carriage return in a line", envelope("*** Update File: a", "@@", "-1", "+9\r8"), Malformed, "carriage return"},
		{"entities in the new lines alone", envelope("*** Update File: a", "@@", " 1", "+x &lt; y"), OverEscaped, "&lt;"},
		{"insertion with two readings", envelope("*** Update File: p.py", "@@", " a()", "+def g():", "+    b()"), Indentation, "like the file"},
		{"one bad file spoils all", envelope("*** Add File: c", "+x", "*** Update File: b", "@@", "-y", "+z"), NotFound, "b: hunk 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cs, err := ApplyPatch(abc.read, tc.patch)
			if cs != nil || err == nil {
				t.Fatalf("applied: %v", cs)
			}
			if KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("kind %q, want %q with %q in:\n%v", KindOf(err), tc.kind, tc.text, err)
			}
		})
	}
}

func TestApplyPatchReportsEveryHunk(t *testing.T) {
	fsys := files{"a": "1\n2\n", "b": "1\n"}
	_, err := ApplyPatch(fsys.read, envelope("*** Update File: a", "@@", "-8", "+x", "@@", "-9", "+x", "*** Delete File: c", "*** Update File: b", "@@", "-1", "+2"))
	for _, want := range []string{"a: hunk 1: patch line 3: ", "a: hunk 2: patch line 6: ", "c: patch line 9: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func TestParsePatchPaths(t *testing.T) {
	p, err := ParsePatch(envelope("*** Add File: n", "+1", "+2", "*** Update File: ./a", "*** Move to: b/c", "@@", "-1", "+2", "+3", "*** Delete File: d"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"n", "a", "b/c", "d"}, p.Writes()); d != "" {
		t.Error(d)
	}
	if f := p.Files[1]; f.Op != UpdateFile || f.Path != "a" || f.MoveTo != "b/c" || f.Added != 2 || f.Removed != 1 {
		t.Errorf("%+v", f)
	}
}
