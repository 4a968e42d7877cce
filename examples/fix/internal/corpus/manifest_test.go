package corpus

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func modules(t testing.TB) []Module {
	t.Helper()
	ms, err := Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

// Evidence: training · Modules that are held out stay out of training
func TestManifest(t *testing.T) {
	ms := modules(t)
	train, held := Of(ms, Train), Of(ms, HeldOut)
	if len(train) < 120 || len(held) < 25 || len(train)+len(held) != len(ms) {
		t.Errorf("%d modules to train on, %d held out, of %d; want at least 120 and 25, and no others", len(train), len(held), len(ms))
	}
	if !slices.ContainsFunc(train, func(m Module) bool { return m.Path == Std }) {
		t.Error("the standard library is not trained on")
	}
}

// TestManifestOwners checks that no owner is on both sides of the split, since code by the same
// author is similar. Two owners are exceptions, because their modules on the two sides have
// different authors: brotli is a translation of Google's C code, and pebble and apd are by
// different teams.
func TestManifestOwners(t *testing.T) {
	both := []string{"github.com/andybalholm", "github.com/cockroachdb"}
	ms := modules(t)
	held := map[string]bool{}
	for _, m := range Of(ms, HeldOut) {
		held[Owner(m.Path)] = true
	}
	for _, m := range Of(ms, Train) {
		if owner := Owner(m.Path); held[owner] && !slices.Contains(both, owner) {
			t.Errorf("%s is trained on, and other code of %s is held out", m.Path, owner)
		}
	}
}

// TestManifestFixes checks that the modules from whose released versions real bug fixes are taken
// are not trained on.
func TestManifestFixes(t *testing.T) {
	data, err := os.ReadFile("../realfix/modules.txt")
	if err != nil {
		t.Fatal(err)
	}
	fixes := map[string]bool{}
	for l := range strings.Lines(string(data)) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			fixes[Repository(l)] = true
		}
	}
	if len(fixes) == 0 {
		t.Fatal("modules.txt lists no modules")
	}
	for _, m := range modules(t) {
		if m.Fixes != fixes[Repository(m.Path)] {
			t.Errorf("%s: fixes is %v, in modules.txt it is %v", m.Path, m.Fixes, fixes[Repository(m.Path)])
		}
	}
}

const goodSum = "h1:jgJE5sMkmzFUXHmxJ8+PMIcpE0Hrh9bb/ZfPXqB1w7s="

func entry(path, licence, split, more string) string {
	return `{"path":"` + path + `","version":"v1.0.0","licence":"` + licence + `","sum":"` + goodSum + `","split":"` + split + `"` + more + `}`
}

func TestParseManifest(t *testing.T) {
	for name, c := range map[string]struct{ data, err string }{
		"good":             {"[" + entry("a.org/a", "MIT", "train", "") + "," + entry("a.org/b", "Apache-2.0 AND MIT", "heldout", `,"fixes":true`) + "]", ""},
		"not JSON":         {"[", "unexpected EOF"},
		"unknown field":    {"[" + entry("a.org/a", "MIT", "train", `,"license":"MIT"`) + "]", "unknown field"},
		"copyleft":         {"[" + entry("a.org/a", "GPL AND MIT", "train", "") + "]", "licence"},
		"no licence":       {"[" + entry("a.org/a", "", "train", "") + "]", "licence"},
		"no split":         {"[" + entry("a.org/a", "MIT", "", "") + "]", "split"},
		"unsorted":         {"[" + entry("a.org/b", "MIT", "train", "") + "," + entry("a.org/a", "MIT", "train", "") + "]", "sort by path"},
		"twice":            {"[" + entry("a.org/b", "MIT", "train", "") + "," + entry("a.org/b", "MIT", "train", "") + "]", "each once"},
		"bad path":         {"[" + entry("../a", "MIT", "train", "") + "]", "malformed module path"},
		"bad sum":          {"[" + strings.Replace(entry("a.org/a", "MIT", "train", ""), goodSum, "h1:x", 1) + "]", "checksum"},
		"bad version":      {"[" + strings.Replace(entry("a.org/a", "MIT", "train", ""), "v1.0.0", "latest", 1) + "]", "version"},
		"both sides":       {"[" + entry("github.com/a/b", "MIT", "train", "") + "," + entry("github.com/a/b/sub", "MIT", "heldout", "") + "]", "both sides"},
		"fixes to train":   {"[" + entry("a.org/a", "MIT", "train", `,"fixes":true`) + "]", "bug fixes"},
		"version and path": {"[" + entry("a.org/a/v2", "MIT", "train", "") + "]", "version"},
	} {
		_, err := ParseManifest([]byte(c.data))
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got error %v, want one with %q", name, err, c.err)
		}
	}
}

func TestRepositoryOwner(t *testing.T) {
	type both struct{ Repository, Owner string }
	want := map[string]both{
		"github.com/a/b":       {"github.com/a/b", "github.com/a"},
		"github.com/a/b/v2":    {"github.com/a/b", "github.com/a"},
		"github.com/a/b/sub":   {"github.com/a/b", "github.com/a"},
		"golang.org/x/text":    {"golang.org/x/text", "golang.org"},
		"gopkg.in/yaml.v3":     {"gopkg.in/yaml", "gopkg.in/yaml"},
		"mvdan.cc/sh/v3":       {"mvdan.cc/sh", "mvdan.cc"},
		"go.starlark.net":      {"go.starlark.net", "go.starlark.net"},
		"gonum.org/v1/gonum":   {"gonum.org/v1/gonum", "gonum.org"},
		"github.com/a/b.v2":    {"github.com/a/b", "github.com/a"},
		"github.com/a/b/x/v11": {"github.com/a/b", "github.com/a"},
	}
	for path, w := range want {
		if diff := cmp.Diff(w, both{Repository(path), Owner(path)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add(manifest[:200])
	f.Add([]byte("[" + entry("a.org/a", "MIT", "train", "") + "]"))
	f.Add([]byte("[null]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ms, err := ParseManifest(data)
		if err != nil && !strings.HasPrefix(err.Error(), "corpus: ") {
			t.Errorf("the error does not name the package: %v", err)
		}
		for _, m := range ms {
			if err == nil && (!Permissive(m.Licence) || m.Fixes && m.Split == Train) {
				t.Errorf("accepted %+v", m)
			}
		}
	})
}
