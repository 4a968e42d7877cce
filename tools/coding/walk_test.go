//go:build unix

package coding

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/tier"
)

var project = files{
	".gitignore": "build/\n*.log\n", "main.go": "package main\n", "README.md": "# x\n", "debug.log": "log\n",
	"internal/app/app.go": "package app\n", "internal/app/app_test.go": "package app\n", "internal/db/db.go": "package db\n",
	"web/src/index.ts": "x\n", "web/src/view.tsx": "x\n", "web/src/style.css": "x\n", "build/out.go": "package out\n",
	".github/ci.yml": "on: push\n", ".git/HEAD": "ref\n", ".git/objects/aa/bb": "x", "empty/": "",
}

func TestList(t *testing.T) {
	w := openWith(t, Config{}, project)
	link(t, "main.go", w.Dir(), "alias")
	link(t, "..", w.Dir(), "internal", "up")
	for _, c := range []struct {
		in   args
		want string
	}{
		{args{}, "./\n  .github/\n    ci.yml\n  .gitignore\n  README.md\n  alias -> main.go\n  empty/\n  internal/\n    app/\n      app.go\n      app_test.go\n    db/\n      db.go\n    up -> ..\n  main.go\n  web/\n    src/\n      index.ts\n      style.css\n      view.tsx"},
		{args{"path": "internal", "depth": 1}, "internal/\n  app/ (2 entries)\n  db/ (1 entry)\n  up -> .."},
		{args{"path": "empty"}, "empty/\n(empty directory)"},
		{args{"path": "build"}, "build/\n  out.go"}, // ignored, but requested by name
		{args{"path": "web/src", "ignored": true}, "web/src/\n  index.ts\n  style.css\n  view.tsx"},
	} {
		if d := cmp.Diff(c.want, do(t, w, "list", c.in)); d != "" {
			t.Errorf("%v (-want +got):\n%s", c.in, d)
		}
	}
	contains(t, do(t, w, "list", args{"ignored": true}), "debug.log", "build/")
}

func TestListIsBounded(t *testing.T) {
	w := openWith(t, Config{Limits: Limits{ListEntries: 50}}, nil)
	for i := range 300 {
		files{fmt.Sprintf("big/f%03d", i): "", fmt.Sprintf("d%02d/x", i%20): ""}.write(t, w.Dir())
	}
	got := do(t, w, "list", args{})
	if n := strings.Count(got, "\n"); n > 80 {
		t.Errorf("%d lines", n)
	}
	contains(t, got, "big/", "d00/", "only 50 entries")
}

func TestGlob(t *testing.T) {
	w := openWith(t, Config{}, project)
	old := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(filepath.Join(w.Dir(), "internal/app/app.go"), old, old))
	for _, c := range []struct {
		in   args
		want string
	}{
		{args{"pattern": "*.go", "sort": "path"}, "internal/app/app.go\ninternal/app/app_test.go\ninternal/db/db.go\nmain.go"},
		{args{"pattern": "**/*_test.go"}, "internal/app/app_test.go"},
		{args{"pattern": "/*.go"}, "main.go"},
		{args{"pattern": "./*.go"}, "internal/app/app.go\ninternal/app/app_test.go\ninternal/db/db.go\nmain.go"},
		{args{"pattern": "web/**/*.{ts,tsx}", "sort": "path"}, "web/src/index.ts\nweb/src/view.tsx"},
		{args{"pattern": "src/*.ts", "path": "web"}, "web/src/index.ts"},
		{args{"pattern": "internal/", "sort": "path"}, "internal/app/app.go\ninternal/app/app_test.go\ninternal/db/db.go"},
		{args{"pattern": "*.{yml,yaml}"}, ".github/ci.yml"},
		{args{"pattern": "*.log", "ignored": true}, "debug.log"},
		{args{"pattern": "HEAD", "ignored": true}, "No file matches \"HEAD\" below .."},
		{args{"pattern": "out.go", "path": "build"}, "build/out.go"},
		{args{"pattern": filepath.Join(w.Dir(), "main.*")}, "main.go"},
		{args{"pattern": "*.go", "limit": 1, "sort": "path"}, "internal/app/app.go\n(3 more files match and are not shown; narrow the pattern or raise limit)"},
	} {
		if c.in["sort"] == nil {
			c.in["sort"] = "path"
		}
		if d := cmp.Diff(c.want, do(t, w, "glob", c.in)); d != "" {
			t.Errorf("%v (-want +got):\n%s", c.in, d)
		}
	}
	got := strings.Split(do(t, w, "glob", args{"pattern": "internal/**/*.go"}), "\n")
	if got[len(got)-1] != "internal/app/app.go" {
		t.Errorf("the oldest file is not last: %v", got)
	}
	refused(t, w, "glob", args{"pattern": "[a"}, "malformed")
	refused(t, w, "glob", args{"pattern": ""}, "empty")
	refused(t, w, "glob", args{"pattern": "*", "path": "nope"}, "does not exist")
	contains(t, do(t, w, "glob", args{"pattern": "*.zig"}), "No file matches", ".gitignore")
}

// TestSubdirectoryOfARepository: the ignore rules of a repository above the workspace apply.
func TestSubdirectoryOfARepository(t *testing.T) {
	inPlaceOnly(t)
	dir := t.TempDir()
	files{".gitignore": "*.gen\n", "sub/a.gen": "needle\n", "sub/b.txt": "needle\n"}.write(t, dir)
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Skipf("git: %v: %s", err, out)
	}
	for _, rg := range []string{"", noRipgrep} {
		w := openAt(t, filepath.Join(dir, "sub"), Config{Ripgrep: rg})
		for tool, in := range map[string]args{"list": {}, "glob": {"pattern": "*"}, "grep": {"pattern": "needle"}} {
			if got := do(t, w, tool, in); strings.Contains(got, "a.gen") || !strings.Contains(got, "b.txt") {
				t.Errorf("%s: %s", tool, got)
			}
		}
	}
}

// TestLargeTree: for a tree that is too large to show, answers stay short and come quickly.
func TestLargeTree(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	n := tier.Pick(3_000, 20_000, 100_000)
	w := openWith(t, Config{Ripgrep: noRipgrep}, nil)
	for d := range 100 {
		dir := filepath.Join(w.Dir(), fmt.Sprintf("dir%02d/sub%02d", d/10, d%10))
		must(t, os.MkdirAll(dir, 0o755))
		for f := range n / 100 {
			// Hard links are faster to create than files, and read the same.
			name := filepath.Join(dir, fmt.Sprintf("file%05d.txt", f))
			if f == 0 {
				must(t, os.WriteFile(name, []byte("needle in a haystack\n"), 0o644))
				continue
			}
			must(t, os.Link(filepath.Join(dir, "file00000.txt"), name))
		}
	}
	for tool, in := range map[string]args{"list": {}, "glob": {"pattern": "**/*.txt"}, "grep": {"pattern": "needle"}, "symbols": {"name": "needle"}} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		start := time.Now()
		parts, err := tryCtx(t, ctx, w, tool, in)
		cancel()
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		got := agent.PartsText(parts)
		if len(got) > w.cfg.Limits.ReadBytes+1000 {
			t.Errorf("%s: an answer of %d bytes", tool, len(got))
		}
		switch tool {
		case "glob":
			contains(t, got, fmt.Sprintf("%d more files", n-w.cfg.Limits.Results))
		case "grep":
			contains(t, got, fmt.Sprintf("%d matching lines in %d files, of which 200", n, n))
		}
		t.Logf("%s of %d files: %v, %d bytes", tool, n, time.Since(start), len(got))
	}
}
