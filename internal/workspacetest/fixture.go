package workspacetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A file is an entry of the fixture: a regular file, a directory if the name ends in a slash, or a
// link if link is set.
type file struct {
	name string
	text string
	mode os.FileMode // 0 means 0644, and 0755 for directories
	link string
}

// commits are the files of the repository's commits, in order.
var commits = [][]file{
	{
		{name: "go.mod", text: "module example.com/shop\n\ngo 1.21\n"},
		{name: "calc/calc.go", text: "// Package calc calculates.\npackage calc\n\n// Add adds two numbers.\nfunc Add(a, b int) int { return a - b }\n"},
		{name: "main.go", text: "// Command shop prints a sum.\npackage main\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/shop/calc\"\n)\n\nfunc main() {\n\tfmt.Println(calc.Add(1, 2))\n}\n"},
		{name: "README.md", text: "# Shop\n\nAdds numbers.\n"},
		{name: "AGENTS.md", text: "Write Go. Keep functions short.\n"},
		{name: ".gitignore", text: "*.log\n/build/\n"},
		{name: "old.txt", text: "old\n"},
		{name: "notes.txt", text: "buy milk\ncall Ann\n"},
	},
	{
		{name: "calc/calc_test.go", text: "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif got := Add(1, 2); got != 3 {\n\t\tt.Errorf(\"Add(1, 2) = %d, want 3\", got)\n\t}\n}\n"},
		{name: "calc/AGENTS.md", text: "Every function of calc has a test.\n"},
		{name: "docs/guide.md", text: "# Guide\n\nRun the shop.\n"},
		{name: "docs/code", link: "../calc"},
		{name: "link.txt", link: "notes.txt"},
		{name: "dangling", link: "nowhere/at/all"},
		{name: "outside", link: "/etc/hostname"},
		{name: "tools/check.sh", text: "#!/bin/sh\necho checked\n", mode: 0o755},
		{name: "run.sh", text: "#!/bin/sh\necho run\n"},
		{name: "windows.txt", text: "first line\r\nsecond line\r\nthird line\r\n"},
		{name: "latin1.txt", text: "Caf\xe9 M\xfcller, Stra\xdfe 5\nGr\xfc\xdfe aus K\xf6ln\n"},
		{name: "two words.txt", text: "two words\n"},
		{name: "größe.txt", text: "wide\n"},
		{name: "empty.txt"},
	},
}

// loose are the files of the directory that are in no commit: changed, new and ignored ones.
var loose = []file{
	{name: "README.md", text: "# Shop\n\nAdds numbers, one day.\n"},
	{name: "todo.md", text: "- multiply\n"},
	{name: "debug.log", text: "ignored line\n"},
	{name: "build/out.bin", text: "\x00\x01\x02binary\xff"},
	{name: "docs/guide.md", text: "# Guide\n\nRun the shop.\n", mode: 0o600},
	{name: "private/", mode: 0o750},
}

// gitEnv makes the same commits everywhere.
var gitEnv = []string{
	"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_AUTHOR_DATE=2024-03-01T10:00:00Z",
	"GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com", "GIT_COMMITTER_DATE=2024-03-01T10:00:00Z",
	"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
}

// Fixture makes the repository in dir, which must be an empty directory: a Go module whose test
// fails, with links, executables, and files in several encodings. A clean one is a fresh clone of
// its commit; otherwise it also has changed, new and ignored files.
func Fixture(t testing.TB, dir string, clean bool) {
	t.Helper()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), gitEnv...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	must(t, os.Chmod(dir, 0o755))
	git("init", "-q", "-b", "main", "--template=")
	git("config", "core.autocrlf", "false")
	for i, files := range commits {
		for j, f := range files {
			f.make(t, dir, 100*i+j)
		}
		git("add", "-A")
		git("commit", "-q", "-m", []string{"Begin the shop", "Add tests and papers"}[i])
	}
	git("tag", "v0.1")
	if !clean {
		for j, f := range loose {
			f.make(t, dir, 1000+j)
		}
	}
}

// begin is the time of the first file's last change. Each file is a second younger than the one
// before it, since glob orders by time.
var begin = time.Date(2024, 2, 1, 10, 0, 0, 0, time.UTC)

func (f file) make(t testing.TB, dir string, n int) {
	t.Helper()
	path, mode := filepath.Join(dir, filepath.FromSlash(f.name)), f.mode
	if strings.HasSuffix(f.name, "/") {
		must(t, os.MkdirAll(path, 0o755))
		must(t, os.Chmod(path, mode))
		return
	}
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.Chmod(filepath.Dir(path), 0o755))
	if f.link != "" {
		must(t, os.Symlink(f.link, path))
		return
	}
	if mode == 0 {
		mode = 0o644
	}
	must(t, os.WriteFile(path, []byte(f.text), mode))
	must(t, os.Chmod(path, mode))
	at := begin.Add(time.Duration(n) * time.Second)
	must(t, os.Chtimes(path, at, at))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
