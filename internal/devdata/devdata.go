// Package devdata locates the data that tests use for measurements: recorded runs, corpora,
// vocabularies.
//
// The data lies outside the repository, in a folder named shared next to the checkout, because it
// is large and belongs to other projects. A checkout without it uses the samples in this package's
// testdata: a few records in the format of each data set, written for this purpose. The environment
// variable LUTHIER_SHARED selects the data:
//
//	(unset)   the shared data if it is there, else the samples
//	require   the shared data; a test that needs an absent file fails
//	samples   the samples, even if the shared data is there
package devdata

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Env is the environment variable that chooses between the shared data and the samples.
const Env = "LUTHIER_SHARED"

const module = "github.com/luthier-dev/luthier"

// Path returns the path of a file or folder of the data, such as "moe-dev/oracle". If neither the
// shared data nor the samples have it, Path skips the test; if Env is "require" and the shared data
// lacks it, Path fails the test.
func Path(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range dirs(t) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	missing(t, name)
	return ""
}

// Glob returns the files of the data that match a pattern of [filepath.Glob], such as
// "moe-dev/vocab/*.gguf". It returns at least one file; if none matches, it ends the test as [Path]
// does.
func Glob(t testing.TB, pattern string) []string {
	t.Helper()
	for _, dir := range dirs(t) {
		files, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatalf("devdata: match %s: %v", pattern, err)
		}
		if len(files) > 0 {
			return files
		}
	}
	missing(t, pattern)
	return nil
}

// Sampled reports whether path, which [Path] or [Glob] returned, is one of the samples. Thresholds
// that hold for the complete data do not apply to samples.
func Sampled(t testing.TB, path string) bool {
	t.Helper()
	return strings.HasPrefix(path, samples(root(t))+string(filepath.Separator))
}

func missing(t testing.TB, name string) {
	t.Helper()
	if os.Getenv(Env) == "require" {
		t.Fatalf("devdata: %s is absent from the folder shared beside the checkout, and %s=require asks for it", name, Env)
	}
	t.Skipf("devdata: %s is neither in the folder shared beside the checkout nor among the samples", name)
}

// dirs returns the folders to look in, the preferred one first.
func dirs(t testing.TB) []string {
	t.Helper()
	top := root(t)
	shared := filepath.Join(filepath.Dir(top), "shared")
	switch mode := os.Getenv(Env); mode {
	case "":
		return []string{shared, samples(top)}
	case "require":
		return []string{shared}
	case "samples":
		return []string{samples(top)}
	default:
		t.Fatalf("devdata: %s is %q: set it to require or samples, or leave it unset", Env, mode)
		return nil
	}
}

func samples(root string) string { return filepath.Join(root, "internal", "devdata", "testdata") }

// root returns the folder of the root module: the nearest folder above the test's folder whose
// go.mod has the module's path. It also works for tests of nested modules.
func root(t testing.TB) string {
	t.Helper()
	start, err := os.Getwd()
	if err != nil {
		t.Fatalf("devdata: find the module: %v", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.Contains("\n"+string(text), "\nmodule "+module+"\n") {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("devdata: no go.mod of %s above %s", module, start)
		}
	}
}
