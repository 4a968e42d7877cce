package corpus

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestDownloadStd(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	got, err := Download(t.Context(), []Module{{Path: Std, Split: Train}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(got[0].Dir, "strings", "strings.go")); err != nil {
		t.Errorf("%s is not the standard library: %v", got[0].Dir, err)
	}
}

// TestDownload uses a module that this module depends on, which is in the cache, so that no network
// is needed.
//
// Evidence: training · Corpus modules are found in the module cache
func TestDownload(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	ms := slices.DeleteFunc(modules(t), func(m Module) bool { return m.Path != "golang.org/x/mod" })
	got, err := Download(t.Context(), ms)
	if err != nil {
		t.Skipf("not in the module cache: %v", err)
	}
	if _, err := os.Stat(filepath.Join(got[0].Dir, "semver", "semver.go")); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Module){
		"checksum": func(m *Module) { m.Sum = goodSum },
		"licence":  func(m *Module) { m.Licence = "MIT" },
		"version":  func(m *Module) { m.Version = "v0.0.0-20010101000000-0123456789ab" },
	} {
		bad := slices.Clone(ms)
		change(&bad[0])
		if _, err := Download(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "golang.org/x/mod") {
			t.Errorf("wrong %s: got error %v, want one that names the module", name, err)
		}
	}
}

func TestParseDownloads(t *testing.T) {
	got, err := parseDownloads([]byte(`{"Path":"a","Version":"v1.0.0","Dir":"d","Sum":"s"}{"Path":"b","Error":"not found"}`))
	if err != nil || len(got) != 2 || got["a"].Dir != "d" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := got["b"].verify(Module{Path: "b", Version: "v1.0.0"}); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("got error %v, want what go mod download said", err)
	}
	if _, err := got["c"].verify(Module{Path: "c", Version: "v1.0.0"}); err == nil {
		t.Error("no error for a module that was not downloaded")
	}
	var cause error
	if _, cause = parseDownloads([]byte(`{"Path":`)); cause == nil || errors.Unwrap(cause) == nil {
		t.Errorf("got error %v for a broken answer", cause)
	}
}
