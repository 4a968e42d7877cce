package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/google/go-cmp/cmp"
	"github.com/luthier-dev/luthier/internal/tier"
)

// write makes files below dir from pairs of name and text.
func write(t *testing.T, dir string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, files[i])
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(files[i+1]), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// command runs a program and returns what it printed.
func command(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...) // also in cleanups, where the test's context has ended
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// commit makes a repository of what is in dir, or one more commit.
func commit(t *testing.T, dir string) {
	t.Helper()
	command(t, dir, nil, "git", "init", "-q")
	command(t, dir, nil, "git", "add", "-A")
	command(t, dir, nil, "git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "x")
}

// house is a small repository of two modules, of which one requires the other.
func house(t *testing.T) string {
	dir := t.TempDir()
	write(t, dir,
		"LICENSE", "the license\n",
		"go.work", "go 1.26\n\nuse (\n\t./tool\n\t.\n)\n",
		"go.mod", "module example.com/House\n\ngo 1.26\n",
		"house.go", "package house\n\nfunc Rooms() int { return 3 }\n",
		"tool/go.mod", "module example.com/House/tool\n\ngo 1.26\n\nrequire example.com/House v0.1.0\n\nreplace example.com/House => ..\n",
		"tool/main.go", "package main\n\nimport house \"example.com/House\"\n\nfunc main() { println(house.Rooms()) }\n")
	commit(t, dir)
	return dir
}

// TestRelease checks that a program outside the tree gets every module from the proxy alone, each
// requiring the others at the released version, and that a second release leaves the first as it
// is.
func TestRelease(t *testing.T) {
	dir, proxy, bin := house(t), t.TempDir(), t.TempDir()
	install := func(version string) string {
		env := []string{"GOPROXY=file://" + proxy, "GONOSUMDB=*", "GOFLAGS=-modcacherw", "GOWORK=off", "GOMODCACHE=" + t.TempDir(), "GOBIN=" + bin}
		command(t, bin, env, "go", "install", "example.com/House/tool@"+version)
		return command(t, bin, nil, filepath.Join(bin, "tool"))
	}
	got, err := release(dir, "v0.2.0", proxy)
	if err != nil {
		t.Fatal(err)
	}
	want := []module.Version{{Path: "example.com/House", Version: "v0.2.0"}, {Path: "example.com/House/tool", Version: "v0.2.0"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("released (-want +got):\n%s", d)
	}
	if out := install("v0.2.0"); out != "3\n" {
		t.Errorf("the installed program prints %q", out)
	}
	b, err := os.ReadFile(filepath.Join(proxy, "example.com/!house/tool/@v/v0.2.0.mod"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", b, nil)
	if err != nil || len(file.Replace) > 0 || file.Require[0].Mod.Version != "v0.2.0" {
		t.Errorf("go.mod as released: %v\n%s", err, b)
	}

	write(t, dir, "house.go", "package house\n\nfunc Rooms() int { return 4 }\n")
	commit(t, dir)
	if _, err := release(dir, "v0.10.0", proxy); err != nil {
		t.Fatal(err)
	}
	if a, b, c := install("v0.2.0"), install("v0.10.0"), install("latest"); a != "3\n" || b != "4\n" || c != "4\n" {
		t.Errorf("v0.2.0 prints %q, v0.10.0 %q, the latest %q", a, b, c)
	}
}

// TestRefusals checks that nothing is published that could not be repeated or would replace what
// is.
func TestRefusals(t *testing.T) {
	dir, proxy := house(t), t.TempDir()
	if _, err := release(dir, "v0.1.0", proxy); err != nil {
		t.Fatal(err)
	}
	refused := func(version, want string) {
		t.Helper()
		if _, err := release(dir, version, proxy); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", version, err, want)
		}
	}
	refused("v0.1.0", "never changes")
	refused("0.2.0", "write it as v1.2.3")
	refused("v1", "write it as v1.2.3")
	refused("v2.0.0", "should be v0 or v1")
	write(t, dir, "house.go", "package house\n")
	refused("v0.2.0", "house.go")
	command(t, dir, nil, "git", "checkout", "-q", "house.go")
	write(t, dir, "go.mod", "module example.com/House\n\ngo 1.26\n\nrequire example.com/House/tool v0.1.0\n")
	commit(t, dir)
	refused("v0.2.0", "requires itself")
}

// TestUnfinishedRelease checks that a release that was killed before it was listed can be made
// again.
func TestUnfinishedRelease(t *testing.T) {
	dir, proxy := house(t), t.TempDir()
	if _, err := release(dir, "v0.1.0", proxy); err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{"example.com/!house", "example.com/!house/tool"} {
		at := filepath.Join(proxy, m, "@v")
		if err := errors.Join(os.Remove(filepath.Join(at, "list")), os.Truncate(filepath.Join(at, "v0.1.0.zip"), 9), os.Remove(filepath.Join(at, "v0.1.0.info"))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := release(dir, "v0.1.0", proxy); err != nil {
		t.Fatal(err)
	}
}

// TestThisRepository checks that the modules of this repository work for a program outside its
// tree: it gets each from the proxy, compiles the README's program and installs the examples.
func TestThisRepository(t *testing.T) {
	if !tier.Long() {
		t.Skip("compiles the whole library once more: " + tier.Env + "=1")
	}
	top := strings.TrimSpace(command(t, ".", nil, "git", "rev-parse", "--show-toplevel"))
	clone, proxy, host, bin := filepath.Join(t.TempDir(), "clone"), t.TempDir(), t.TempDir(), t.TempDir()
	command(t, ".", nil, "git", "clone", "-q", top, clone) // the last commit, whatever is being edited
	version := fmt.Sprintf("v0.1.1-test.%d", time.Now().UnixNano())
	modules, err := release(clone, version, proxy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { forgetModules(t, version) })
	env := []string{"GOPROXY=file://" + proxy + "," + strings.TrimSpace(command(t, ".", nil, "go", "env", "GOPROXY")),
		"GONOSUMDB=" + modules[0].Path + "," + modules[0].Path + "/*", "GOFLAGS=-mod=mod -modcacherw", "GOWORK=off", "GOBIN=" + bin}

	command(t, host, env, "go", "mod", "init", "example.com/host")
	write(t, host, "main.go", readmeProgram(t, clone))
	for _, m := range modules {
		command(t, host, env, "go", "get", m.Path+"@"+version)
	}
	command(t, host, env, "go", "build", "-o", filepath.Join(bin, "host"), ".")
	command(t, host, env, "go", "vet", modules[0].Path+"/sandbox/fleet")
	for _, m := range modules {
		if strings.Contains(m.Path, "/examples/") {
			command(t, host, env, "go", "install", m.Path+"@"+version)
		}
	}
	if out := command(t, host, nil, filepath.Join(bin, "coder"), "-h"); !strings.Contains(out, "-model") {
		t.Errorf("coder -h prints %q", out)
	}
	if text, err := os.ReadFile(filepath.Join(host, "go.mod")); err != nil || strings.Contains(string(text), "replace") {
		t.Errorf("the host needs a replace directive: %v\n%s", err, text)
	}
}

// readmeProgram returns the first program of the README.
func readmeProgram(t *testing.T, dir string) string {
	b, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "```go\npackage main\n")
	text, _, ok := strings.Cut(text, "\n```")
	if !ok {
		t.Fatal("README.md has no program")
	}
	return "package main\n" + text
}

// forgetModules removes a version of this library from the module cache, which the test shares with
// the user so that dependencies need not be compiled again.
func forgetModules(t *testing.T, version string) {
	cache := strings.TrimSpace(command(t, ".", nil, "go", "env", "GOMODCACHE"))
	for _, pattern := range []string{
		"github.com/luthier-dev/luthier@" + version, "github.com/luthier-dev/luthier/*@" + version, "github.com/luthier-dev/luthier/*/*@" + version,
		"cache/download/github.com/luthier-dev/luthier/@v/" + version + ".*", "cache/download/github.com/luthier-dev/luthier/*/@v/" + version + ".*",
		"cache/download/github.com/luthier-dev/luthier/*/*/@v/" + version + ".*",
	} {
		found, _ := filepath.Glob(filepath.Join(cache, filepath.FromSlash(pattern)))
		for _, name := range found {
			if err := os.RemoveAll(name); err != nil {
				t.Error(err)
			}
		}
	}
}
