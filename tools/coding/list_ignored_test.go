package coding

import (
	"fmt"
	"testing"
)

// TestListNamesWhatIsIgnored: a directory of which ignore files leave out everything is not called
// empty, wherever the rule is.
func TestListNamesWhatIsIgnored(t *testing.T) {
	fs := files{
		".gitignore": "scripts/*\n*.log\nbuild/\n", "scripts/writer.py": "x\n", "scripts/sub/x": "x\n", "logs/a.log": "x\n", "build/out.bin": "x\n",
		"nested/.gitignore": "*\n", "nested/a.txt": "x\n", "void/": "", "src/main.go": "package main\n",
	}
	for i := range 30 {
		fs[fmt.Sprintf("many/%02d.log", i)] = "x\n"
	}
	w := openWith(t, Config{}, fs)
	contains(t, do(t, w, "list", args{"path": "scripts"}), "(nothing but 2 entries that .gitignore leaves out: sub/, writer.py; set ignored to list it)")
	contains(t, do(t, w, "list", args{"path": "logs"}), "1 entry that .gitignore leaves out: a.log")
	contains(t, do(t, w, "list", args{"path": "nested"}), "2 entries that .gitignore leaves out: .gitignore, a.txt")
	contains(t, do(t, w, "list", args{"path": "many"}), "30 entries", "09.log, … 20 more")
	contains(t, do(t, w, "list", args{"path": "void"}), "(empty directory)")
	contains(t, do(t, w, "list", args{"path": "build"}), "out.bin")
	contains(t, do(t, w, "list", args{"path": "scripts", "ignored": true}), "writer.py")
	contains(t, do(t, w, "list", args{}), "  scripts/ (2 entries, ignored)", "  logs/ (1 entry, ignored)", "  src/\n    main.go", "  void/")
}
