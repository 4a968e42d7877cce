package coding

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

// The byte order marks of UTF-16.
const (
	bomLE = "\xff\xfe"
	bomBE = "\xfe\xff"
)

// files maps paths in a directory to contents; a path that ends in "/" is an empty directory.
type files map[string]string

func (fs files) write(t testing.TB, dir string) {
	t.Helper()
	for name, text := range fs {
		p := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(p, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.WriteFile(p, []byte(text), 0o644))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openWith creates a directory that holds fs and opens a workspace over it.
func openWith(t testing.TB, cfg Config, fs files) *Workspace {
	t.Helper()
	dir := t.TempDir()
	fs.write(t, dir)
	return openAt(t, dir, cfg)
}

func openAt(t testing.TB, dir string, cfg Config) *Workspace {
	t.Helper()
	if *elsewhere {
		return openElsewhere(t, dir, cfg)
	}
	w, err := Open(dir, cfg)
	must(t, err)
	checkTree(t, w)
	t.Cleanup(func() { must(t, w.Close()) })
	return w
}

type args map[string]any

// tryCtx calls a tool the way the loop does, with JSON arguments.
func tryCtx(t testing.TB, ctx context.Context, w *Workspace, name string, in args) ([]agent.Part, error) {
	t.Helper()
	raw, err := json.Marshal(in)
	must(t, err)
	res, err := toolOf(t, w, name).Call(ctx, agent.ToolCall{ID: "1", Name: name, Args: raw})
	if err != nil {
		return nil, err
	}
	if res.IsError {
		return nil, fmt.Errorf("%s", res.Text())
	}
	return res.Parts, nil
}

func toolOf(t testing.TB, w *Workspace, name string) agent.Tool {
	t.Helper()
	ts, err := w.Tools()
	must(t, err)
	i := slices.IndexFunc(ts, func(tool agent.Tool) bool { return tool.Spec().Name == name })
	if i < 0 {
		t.Fatalf("no tool %q", name)
	}
	return ts[i]
}

func try(t testing.TB, w *Workspace, name string, in args) (string, error) {
	t.Helper()
	parts, err := tryCtx(t, context.Background(), w, name, in)
	return agent.PartsText(parts), err
}

// do is try for calls that must succeed.
func do(t testing.TB, w *Workspace, name string, in args) string {
	t.Helper()
	out, err := try(t, w, name, in)
	if err != nil {
		t.Fatalf("%s %v: %v", name, in, err)
	}
	return out
}

// refused is try for calls that must fail, with every want in the error's text.
func refused(t testing.TB, w *Workspace, name string, in args, want ...string) {
	t.Helper()
	out, err := try(t, w, name, in)
	if err == nil {
		t.Fatalf("%s %v succeeded: %s", name, in, out)
	}
	for _, s := range want {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%s %v: error %q does not say %q", name, in, err, s)
		}
	}
}

func contains(t testing.TB, got string, want ...string) {
	t.Helper()
	for _, s := range want {
		if !strings.Contains(got, s) {
			t.Errorf("%q is not in:\n%s", s, got)
		}
	}
}

func content(t testing.TB, w *Workspace, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(w.Dir(), name))
	must(t, err)
	return string(data)
}

// tree returns all files of a directory, symbolic links as "-> target".
func tree(t testing.TB, dir string) files {
	t.Helper()
	out := files{}
	must(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		if d.Type()&os.ModeSymlink != 0 {
			dest, err := os.Readlink(p)
			out[rel] = "-> " + dest
			return err
		}
		data, err := os.ReadFile(p)
		out[rel] = string(data)
		return err
	}))
	return out
}

func TestOpenNamesTheField(t *testing.T) {
	dir := t.TempDir()
	for field, cfg := range map[string]Config{
		"Config.Only":             {Only: []string{"raed"}},
		"Config.Without":          {Without: []string{"nothing"}},
		"Config.Ripgrep":          {Ripgrep: "/no/such/rg"},
		"Config.Limits.ReadLines": {Limits: Limits{ReadLines: -1}},
		"Config.Limits.FileBytes": {Limits: Limits{FileBytes: -5}},
	} {
		if _, err := Open(dir, cfg); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%+v: got %v, want an error that names %s", cfg, err, field)
		}
	}
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o644))
	for _, dir := range []string{"", filepath.Join(dir, "missing"), file} {
		if _, err := Open(dir, Config{}); err == nil {
			t.Errorf("Open(%q) succeeded", dir)
		}
	}
}

func TestToolSelection(t *testing.T) {
	names := func(cfg Config) (out []string) {
		ts, err := openWith(t, cfg, nil).Tools()
		must(t, err)
		for _, tool := range ts {
			out = append(out, tool.Spec().Name)
		}
		return out
	}
	if d := cmp.Diff([]string{"read", "edit"}, names(Config{Only: []string{"edit", "read", "grep"}, Without: []string{"grep"}})); d != "" {
		t.Error(d)
	}
	if got := names(Config{}); slices.Contains(got, "search") {
		t.Errorf("search is offered without an index: %v", got)
	}
	want := []string{"read", "write", "edit", "apply_patch", "list", "glob", "grep", "symbols", "todo", "memory", "ask_user"}
	all := names(Config{})
	for _, n := range want {
		if !slices.Contains(all, n) {
			t.Errorf("%s is missing from %v", n, all)
		}
	}
}

// TestEveryToolIsDescribed checks that every tool has at least the parts that a model and a
// permission policy need.
func TestEveryToolIsDescribed(t *testing.T) {
	w := openWith(t, Config{Index: &fakeIndex{}}, nil)
	ts, err := w.Tools()
	must(t, err)
	files := []string{"read", "write", "edit", "apply_patch", "list", "glob", "grep", "search", "repo_map", "symbols", "todo", "memory", "ask_user"}
	ts = slices.DeleteFunc(ts, func(tool agent.Tool) bool { return !slices.Contains(files, tool.Spec().Name) })
	if len(ts) != len(files) {
		t.Errorf("%d file tools, want %d", len(ts), len(files))
	}
	for _, tool := range ts {
		s := tool.Spec()
		if len(s.Description) < 100 || len(s.Description) > 2000 || !strings.Contains(s.Description, "Example: {") {
			t.Errorf("%s: the description should be 100 to 2,000 bytes and hold an example; it has %d", s.Name, len(s.Description))
		}
		for line := range strings.Lines(s.Description) {
			if ex, ok := strings.CutPrefix(strings.TrimSpace(line), "Example: "); ok && !json.Valid([]byte(ex)) {
				t.Errorf("%s: the example is no JSON: %s", s.Name, ex)
			}
		}
		if !s.Effects.Known {
			t.Errorf("%s: effects are unknown", s.Name)
		}
	}
}
