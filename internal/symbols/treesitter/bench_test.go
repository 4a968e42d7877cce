//go:build cgo && !luthier_nosymbols && unix

package treesitter

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/luthier-dev/luthier/internal/symbols"
)

// BenchmarkOf reads the trees below $LUTHIER_TREES and reports CPU seconds for a million lines,
// compared with the token reader.
func BenchmarkOf(b *testing.B) {
	root := os.Getenv("LUTHIER_TREES")
	if root == "" {
		b.Skip("set LUTHIER_TREES to a directory of source trees")
	}
	trees, err := os.ReadDir(root)
	if err != nil {
		b.Fatal(err)
	}
	p := New()
	for _, tree := range trees {
		var paths []string
		var texts [][]byte
		lines := 0
		err := filepath.WalkDir(filepath.Join(root, tree.Name()), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || !slices.Contains(p.Grammars(), filepath.Ext(path)) {
				return err
			}
			src, err := os.ReadFile(path)
			paths, texts = append(paths, path), append(texts, src)
			lines += bytes.Count(src, []byte("\n"))
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		for name, parser := range map[string]symbols.Parser{"grammar": p, "tokens": symbols.Plain{}} {
			b.Run(tree.Name()+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				begun := cpuSeconds()
				for b.Loop() {
					for i, src := range texts {
						_, _ = parser.Of(paths[i], src)
					}
				}
				b.ReportMetric((cpuSeconds()-begun)/float64(b.N)/float64(max(lines, 1))*1e6, "cpu-s/Mline")
			})
		}
	}
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
