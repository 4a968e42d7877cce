package compaction_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/compaction"
)

// BenchmarkDigest digests a log of 12 MB to 1,000 tokens. One line in six belongs to a tool's
// report of failures.
func BenchmarkDigest(b *testing.B) {
	names, err := filepath.Glob("../internal/digest/testdata/logs/*.txt")
	if err != nil || len(names) == 0 {
		b.Fatal("no logs", err)
	}
	var log strings.Builder
	for log.Len() < 12<<20 {
		for i, name := range names {
			report, err := os.ReadFile(name)
			if err != nil {
				b.Fatal(err)
			}
			log.Write(report)
			for range 100 + i {
				log.WriteString("[INFO] Downloaded from central: https://repo.example.org/maven2/org/demo/artifact/1.0/artifact-1.0.jar (21 kB at 1.1 MB/s)\n")
			}
		}
	}
	out := compaction.ToolOutput{Text: log.String(), ExitCode: 1}
	b.SetBytes(int64(log.Len()))
	b.ReportAllocs()
	for b.Loop() {
		compaction.Digest(out, 1000)
	}
}
