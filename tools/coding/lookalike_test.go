package coding

import (
	"strings"
	"testing"
)

// TestNamesThatLookAlike: a path that looks like an existing one is answered with that one, in a
// form in which they differ, and no tool makes a second file that looks the same.
//
// Evidence: coding · A file name that only looks like another one is never made a second time
func TestNamesThatLookAlike(t *testing.T) {
	for name, c := range map[string]struct{ disk, asked string }{
		"decomposed":      {"cafe\u0301.go", "café.go"},
		"composed":        {"café.go", "cafe\u0301.go"},
		"hangul":          {"\u1112\u1161\u11ab.txt", "한.txt"},
		"kana":            {"カ\u3099.txt", "ガ.txt"},
		"curly quotes":    {"John’s “notes”.md", "John's \"notes\".md"},
		"straight quotes": {"it's.md", "it’s.md"},
		"dash":            {"a–b.txt", "a-b.txt"},
		"minus":           {"a−1.txt", "a-1.txt"},
		"hard hyphen":     {"a‑b.txt", "a-b.txt"},
		"no-break space":  {"my\u00a0file.txt", "my file.txt"},
		"narrow space":    {"Screenshot 3.04.10\u202fPM.txt", "Screenshot 3.04.10 PM.txt"},
		"wide":            {"ＡＢＣ.txt", "ABC.txt"},
		"zero width":      {"a\u200bb.txt", "ab.txt"},
		"soft hyphen":     {"ab\u00adc.txt", "abc.txt"},
		"ligature":        {"ﬁle.txt", "file.txt"},
		"dots":            {"wait….txt", "wait....txt"},
		"cyrillic":        {"сonfig.yml", "config.yml"},
	} {
		t.Run(name, func(t *testing.T) {
			w := openWith(t, Config{}, files{"d/" + c.disk: "package x\n"})
			for tool, in := range map[string]args{
				"read": {"path": "d/" + c.asked}, "edit": {"path": "d/" + c.asked, "old": "x", "new": "y"}, "grep": {"pattern": "x", "path": "d/" + c.asked},
			} {
				refused(t, w, tool, in, "looks the same", escaped("d/"+c.disk))
			}
			refused(t, w, "write", args{"path": "d/" + c.asked, "content": "y"}, "looks the same", escaped("d/"+c.disk))
			refused(t, w, "write", args{"path": "d/" + c.asked, "content": "y", "overwrite": true}, "looks the same")
			refused(t, w, "apply_patch", args{"patch": "*** Begin Patch\n*** Add File: d/" + c.asked + "\n+y\n*** End Patch"}, "looks the same")
			if got := tree(t, w.Dir()); len(got) != 1 {
				t.Errorf("made a second file: %v", got)
			}
			contains(t, do(t, w, "read", args{"path": "d/" + c.disk}), "package x")
			do(t, w, "write", args{"path": "d/" + c.disk, "content": "package y\n"}) // the file itself, as ever
		})
	}
}

func TestDirectoriesThatLookAlike(t *testing.T) {
	w := openWith(t, Config{}, files{"e\u0301te\u0301/a.txt": "x\n", "README.md": "x\n"})
	refused(t, w, "read", args{"path": "été/a.txt"}, `"e\u0301te\u0301"`)
	refused(t, w, "write", args{"path": "été/deep/b.txt", "content": "y"}, "looks the same", `"e\u0301te\u0301"`)
	refused(t, w, "write", args{"path": "readme.md", "content": "y"}, "README.md", "overwrite")
	do(t, w, "write", args{"path": "readme.md", "content": "y", "overwrite": true})
	do(t, w, "apply_patch", args{"patch": "*** Begin Patch\n*** Update File: README.md\n*** Move to: Readme.MD\n@@\n-x\n+y\n*** End Patch"})
	do(t, w, "write", args{"path": "new/été.txt", "content": "y"})
	if got := tree(t, w.Dir()); len(got) != 4 || strings.Contains(got["Readme.MD"], "x") {
		t.Errorf("%v", got)
	}
}
