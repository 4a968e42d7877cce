package symbols

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// corpus reads the files of a tree whose names have one of the endings.
func corpus(tb testing.TB, root string, endings string) (paths []string, texts [][]byte, lines int) {
	tb.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.Contains(endings+" ", filepath.Ext(path)+" ") || filepath.Ext(path) == "" {
			return err
		}
		src, err := os.ReadFile(path)
		if err == nil && len(src) <= 1<<20 {
			paths, texts = append(paths, path), append(texts, src)
			lines += bytes.Count(src, []byte("\n"))
		}
		return err
	})
	if err != nil {
		tb.Skip(err)
	}
	return paths, texts, lines
}

// BenchmarkOf reads Go's library, and the trees below $LUTHIER_TREES, and reports the seconds
// needed for a million lines.
func BenchmarkOf(b *testing.B) {
	trees := map[string]string{"go": filepath.Join(runtime.GOROOT(), "src")}
	if root := os.Getenv("LUTHIER_TREES"); root != "" {
		entries, err := os.ReadDir(root)
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range entries {
			trees[e.Name()] = filepath.Join(root, e.Name())
		}
	}
	for name, root := range trees {
		b.Run(name, func(b *testing.B) {
			paths, texts, lines := corpus(b, root, ".go .py .js .ts .svelte .rs .java .c .h")
			b.ReportAllocs()
			for b.Loop() {
				for i, src := range texts {
					if _, err := Of(paths[i], src); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(lines)*1e6, "s/Mline")
			b.ReportMetric(float64(lines), "lines")
		})
	}
}

func runtimeRoot() string { return runtime.GOROOT() }
