package luthier_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Rooms that read workspaces open files with internal/atomicfile/regular. A file of a workspace can
// become a FIFO between a check and the open, and then a bare open waits for ever.

// readers lists the folders whose code reads workspaces.
var readers = []string{"agent/", "tools/", "sandbox/", "retrieval/", "internal/ignore/", "examples/fix/internal/harness/", "examples/fix/internal/repair/"}

// bareOpens lists what may open in another way, with the reason: "FILE: CALL" or a beginning of
// that.
var bareOpens = map[string]string{
	"onetree.go: os.WriteFile(path":                            "the name was made up a moment ago",
	"export.go: os.Create(filepath.Join(temp, \"patch\")":      "a new directory of the host",
	"kept.go: os.OpenFile(filepath.Join(k.dir, \"lock\")":      "the host's own directory",
	"sandbox/internal/layers/clone.go: root.WriteFile(\".git/": "a layer that is being made, to which no command writes",

	"retrieval/internal/cmd/":  "a program for developers of the ranking",
	"retrieval/internal/eval/": "for developers of the ranking",
	"retrieval/internal/gitlog/git.go: os.WriteFile(filepath.Join(g.dir": "a new directory of the host",
	"retrieval/internal/worktree/root_linux.go: unix.Openat2":            "its flags, in a variable, have O_NONBLOCK, and ReadFile looks at what was opened",
	"sandbox/broker_":                     "runs inside the sandbox, on /proc and cgroup files, and is ended with it",
	"sandbox/fleet/oci/oci.go: os.CopyFS": "a snapshot, to which no command writes",
	"sandbox/fleet/oci/oci.go: os.DirFS":  "the same",
	"sandbox/fleet/oci/oci.go: os.WriteFile(filepath.Join(dir, \"config.json\")":        "a new directory of the host",
	"sandbox/gitsafe.go: os.WriteFile(filepath.Join(shadow":                             "a new directory of the host",
	"sandbox/host_launch_linux.go: os.WriteFile(group":                                  "a cgroup file",
	"sandbox/host_plan_linux.go: os.WriteFile(file":                                     "a new directory of the host",
	"sandbox/init_linux.go: os.WriteFile(dir + name":                                    "runs inside the sandbox, on /proc",
	"sandbox/internal/cgroup/":                                                          "cgroup files",
	"sandbox/internal/layers/collect.go":                                                "the host's store of layers, to which no command writes",
	"sandbox/internal/layers/make.go":                                                   "the host's store of layers, to which no command writes",
	"sandbox/internal/memfiles/":                                                        "files of /proc",
	"sandbox/internal/sandboxtest/":                                                     "for tests",
	"sandbox/internal/tree/overlay_linux.go: root.OpenFile(rel, os.O_RDONLY | NoFollow": "it does not wait, and reads only an attribute of whatever it is",
	"sandbox/internal/tree/remove_linux.go: unix.Openat(in, name, how":                  "its flags, in a constant, have O_DIRECTORY",
	"sandbox/internal/treefd/root_linux.go: os.OpenRoot(link":                           "a link that was made a moment ago, to a directory that is open",
	"sandbox/limits_linux.go: os.ReadFile(pidMax)":                                      "a file of /proc",
	"sandbox/remote/log.go":                                                             "the server's own directory",
	"sandbox/remote/output.go":                                                          "the server's own directory",
	"sandbox/toolchain.go: os.ReadFile(file)":                                           "the configuration of the host's user",
	"sandbox/wall_facts_linux.go: syscall.Open(openSetting":                             "a file of /proc",
}

var (
	bareFuncs = map[string]bool{"os.Open": true, "os.OpenFile": true, "os.ReadFile": true, "os.Create": true, "os.WriteFile": true,
		"os.OpenRoot": true, "os.OpenInRoot": true, "os.DirFS": true, "os.CopyFS": true, "osfs.New": true, "git.PlainOpen": true,
		"git.PlainOpenWithOptions": true, "unix.Open": true, "unix.Openat": true, "unix.Openat2": true, "syscall.Open": true}
	// The methods of os.Root, with the number of their arguments.
	bareMethods = map[string]int{"Open": 1, "OpenFile": 3, "ReadFile": 1, "Create": 1, "WriteFile": 3, "OpenRoot": 1}
	rootName    = regexp.MustCompile(`(?i)(^|\.)(\w*root|from|to|in|dir|upper|lower)$`)
	cannotWait  = regexp.MustCompile(`O_(NONBLOCK|PATH|DIRECTORY|EXCL)\b|os\.DevNull`)
	ofSystem    = regexp.MustCompile(`^\w*\(?[^,]*"/(proc|sys|dev|etc)/?`)
)

// opensBarely lists the calls in a file that open a file that may be of a workspace and may wait.
func opensBarely(name string, src any) (out []string, err error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	text := func(n any) string {
		var b strings.Builder
		_ = printer.Fprint(&b, fset, n) // what cannot be printed matches nothing
		return b.String()
	}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, args := text(sel.X), ""
		for i, a := range call.Args {
			if i > 0 {
				args += ", "
			}
			args += text(a)
		}
		bare := bareFuncs[of+"."+sel.Sel.Name] || len(call.Args) > 0 && bareMethods[sel.Sel.Name] == len(call.Args) && rootName.MatchString(of)
		if bare && args != `"."` && !cannotWait.MatchString(args) && !ofSystem.MatchString(args) {
			out = append(out, fmt.Sprintf("%s: %s.%s(%s)", name, of, sel.Sel.Name, args))
		}
		return true
	})
	return out, nil
}

// TestHouseOpens checks that the rooms that read workspaces cannot be kept waiting by a FIFO: they
// open files with internal/atomicfile/regular, except where bareOpens has a reason.
func TestHouseOpens(t *testing.T) {
	used := map[string]bool{}
	out, err := command(t, "git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go")
	if err != nil {
		t.Skip("not in a git repository: ", err)
	}
	for name := range strings.Lines(out) {
		name = strings.TrimSuffix(name, "\n")
		read := !strings.Contains(name, "/") || slices.ContainsFunc(readers, func(r string) bool { return strings.HasPrefix(name, r) })
		if !read || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/testdata/") || !exists(name) {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		calls, err := opensBarely(name, src)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			excepted := false
			for place := range bareOpens {
				if strings.HasPrefix(c, place) {
					excepted, used[place] = true, true
				}
			}
			if !excepted {
				t.Errorf("%s: open it with internal/atomicfile/regular, or say in bareOpens why it cannot be of a workspace", c)
			}
		}
	}
	for place := range bareOpens {
		if !used[place] {
			t.Errorf("%s opens nothing that needs an exception", place)
		}
	}
}

// TestHouseOpensSeesBreaches checks what opensBarely takes for an open that may wait.
func TestHouseOpensSeesBreaches(t *testing.T) {
	const src = `package p
func f() {
	os.Open(path)
	os.ReadFile(filepath.Join(dir, ".git"))
	os.OpenFile(path, os.O_WRONLY, 0)
	os.OpenRoot(dir)
	w.root.Open(name)
	root.OpenFile(name, os.O_RDONLY, 0)
	in.OpenRoot(name)
	unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	osfs.New(dir)
	git.PlainOpen(dir)

	os.ReadFile("/proc/self/status")
	os.ReadFile(os.DevNull)
	root.Open(".")
	os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0)
	unix.Open(path, unix.O_PATH, 0)
	regular.Open(path)
	retrieval.Open(ctx, dir, cfg)
}
`
	got, err := opensBarely("p.go", src)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`p.go: os.Open(path)`,
		`p.go: os.ReadFile(filepath.Join(dir, ".git"))`,
		`p.go: os.OpenFile(path, os.O_WRONLY, 0)`,
		`p.go: os.OpenRoot(dir)`,
		`p.go: w.root.Open(name)`,
		`p.go: root.OpenFile(name, os.O_RDONLY, 0)`,
		`p.go: in.OpenRoot(name)`,
		`p.go: unix.Open(path, unix.O_RDONLY | unix.O_CLOEXEC, 0)`,
		`p.go: osfs.New(dir)`,
		`p.go: git.PlainOpen(dir)`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("opens (-want +got):\n%s", d)
	}
}
