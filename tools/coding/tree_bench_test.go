//go:build linux

package coding

import (
	"fmt"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/sandbox"
)

// BenchmarkTree calls tools in place and on the tree of a snapshot of the same 5,000 files.
func BenchmarkTree(b *testing.B) {
	dir := b.TempDir()
	body := strings.Repeat("\tx := compute(a, b, c) // a comment of usual length\n", 300)
	fs := files{}
	for i := range 5000 {
		fs[fmt.Sprintf("d%02d/e%d/f%d.go", i%50, i%7, i)] = fmt.Sprintf("package p%d\n\nfunc f() {\n%s}\n", i, body)
	}
	fs.write(b, dir)
	box, err := sandbox.Local(b.Context(), sandbox.Config{Snapshot: sandbox.SnapshotDir(dir)})
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(func() { must(b, box.Close()) })
	const file = "d00/e0/f0.go"
	patch := func(from, to string) string {
		return "*** Begin Patch\n*** Update File: " + file + "\n@@\n-package " + from + "\n+package " + to + "\n*** Update File: d01/e1/f1.go\n@@\n-package " + from + "x\n+package " + to + "x\n*** End Patch"
	}
	for _, c := range []struct {
		name, tool string
		calls      [2]args
	}{
		{"read", "read", [2]args{{"path": file}, {"path": file}}},
		{"edit", "edit", [2]args{{"path": file, "old": "package p0", "new": "package p1"}, {"path": file, "old": "package p1", "new": "package p0"}}},
		{"patch", "apply_patch", [2]args{{"patch": patch("p0", "q")}, {"patch": patch("q", "p0")}}},
		{"list", "list", [2]args{{}, {}}},
		{"glob", "glob", [2]args{{"pattern": "**/f4*.go"}, {"pattern": "**/f4*.go"}}},
		{"grep", "grep", [2]args{{"pattern": "package p4"}, {"pattern": "package p4"}}},
		{"search", "grep", [2]args{{"pattern": "package p4"}, {"pattern": "package p4"}}},
	} {
		cfg := Config{}
		if c.name == "search" {
			cfg.Ripgrep = noRipgrep
		}
		for _, at := range []string{"place", "tree"} {
			b.Run(c.name+"/"+at, func(b *testing.B) {
				w := openBox(b, box, cfg).Workspace
				if at == "place" {
					w = openAt(b, dir, cfg)
				}
				do(b, w, "write", args{"path": file, "content": fs[file], "overwrite": true})
				do(b, w, "write", args{"path": "d01/e1/f1.go", "content": strings.Replace(fs["d01/e1/f1.go"], "package p1", "package p0x", 1), "overwrite": true})
				benchCalls(b, w, c.tool, c.calls[:])
			})
		}
	}
}
