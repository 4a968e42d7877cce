package digest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/luthier-dev/luthier/internal/tokencount"
)

// tools returns the logs in testdata, with the lines that their digests must contain.
func tools(t testing.TB) map[string][]string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/want.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, f := range archive.Files {
		out[f.Name] = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
	}
	return out
}

func readLog(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/logs", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTools digests each tool's report twice: alone, to 480 tokens, and inside 60 kB of CI output,
// to 3 % of the tokens. No expected line may be lost.
//
// Evidence: compaction · Digests know the reports of eighty tools
func TestTools(t *testing.T) {
	logs, _ := filepath.Glob("testdata/logs/*.txt")
	wants := tools(t)
	if len(logs) != len(wants) {
		t.Errorf("%d logs, wants for %d", len(logs), len(wants))
	}
	for name, want := range wants {
		t.Run(name, func(t *testing.T) {
			log := readLog(t, name)
			alone := Input{Text: log, ExitCode: 1, Budget: 480}
			ci := noise(30_000, "before") + log + "\n" + noise(30_000, "after")
			within := Input{Text: ci, ExitCode: 1, Budget: tokencount.Estimate(ci) * 3 / 100}
			for kind, in := range map[string]Input{"alone": alone, "in a CI's log": within} {
				d := Digest(in)
				check(t, in, d)
				for _, w := range want {
					if !strings.Contains(d.Text, w) {
						t.Errorf("%s: lost %q of\n%s", kind, w, d.Text)
					}
				}
			}
		})
	}
}

// noise returns size bytes of typical output of package managers, compilers and passing tests.
func noise(size int, seed string) string {
	lines := []string{
		"[INFO] Downloaded from central: https://repo.maven.apache.org/maven2/org/demo/artifact-%d/%d.0/artifact-%d.jar (21 kB at 1.1 MB/s)",
		"npm http fetch GET 200 https://registry.npmjs.org/package-%d 33ms (cache hit %d) %d",
		"  ✓ handles an invalid error code %d (%d ms) %d",
		"PASS src/error/handler-%d.test.js (%d.%d s)",
		"tests/test_module_%d.py::test_case_%d PASSED [ %d%%]",
		"test errors::parse_%d_%d_%d ... ok",
		"Collecting library-%d==%d.%d.0 (from -r requirements.txt)",
		"   Compiling crate-%d v%d.%d.0",
		"ok  \texample.com/service/pkg%d\t0.%d%ds",
		"[%d/%d] CXX object src/CMakeFiles/app.dir/file%d.cc.o",
		"\x1b[32m2026-01-02 03:04:05 [info] worker %d started with 0 errors in %d ms (%d)\x1b[0m",
	}
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, lines[(i*7+len(seed))%len(lines)]+"\n", i, i%10, i%100)
	}
	return b.String()
}
