package testreport

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type testParser func(io.Reader, Paths) (*Report, error)

var srcPaths = Paths{Root: "/src/proj", Dir: ".", Module: "example.com/shop"}

// testParserOf derives from a recording's name which runner wrote it.
func testParserOf(name string) (testParser, string) {
	switch {
	case strings.HasPrefix(name, "go-"):
		return parseGoTestJSON, "go test"
	case strings.HasPrefix(name, "pytest-"):
		return ParsePytest, "pytest"
	case strings.HasPrefix(name, "cargo-"):
		return ParseCargo, "cargo test"
	}
	return ParseJest, "jest"
}

// TestRecordedRuns parses the output of real runners (testdata/testrun) and compares the text for
// the model.
//
// Evidence: coding · Test runs give structured results
func TestRecordedRuns(t *testing.T) {
	exit := map[string]int{"go-nomatch.json": 0, "cargo-nomatch.txt": 0, "pytest-nomatch.txt": 5, "pytest-nofile.txt": 4, "cargo-broken.txt": 101}
	files, err := filepath.Glob("testdata/testrun/*.[jt][sx]*")
	if err != nil || len(files) < 15 {
		t.Fatalf("recordings: %d, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parse, framework := testParserOf(name)
			rep, err := parse(bytes.NewReader(data), srcPaths)
			if err != nil {
				t.Fatal(err)
			}
			code, ok := exit[name]
			if !ok {
				code = 1
			}
			got := rep.Render(Outcome{Framework: framework, ExitCode: code, Tail: "(tail)"}) + "\n"
			golden(t, strings.TrimSuffix(file, filepath.Ext(file))+".golden", got)
			byByte, err := parse(iotest.OneByteReader(bytes.NewReader(data)), srcPaths)
			if err != nil || !cmp.Equal(rep, byByte) {
				t.Errorf("read a byte at a time: %v\n%s", err, cmp.Diff(rep, byByte))
			}
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// TestRecordedCounts checks the numbers that the runners themselves print, independently of the
// golden files.
func TestRecordedCounts(t *testing.T) {
	type counts struct{ Passed, Failed, Skipped, Errors, Build int }
	for name, want := range map[string]counts{
		"go-all.json":      {Passed: 7, Failed: 8, Skipped: 1, Errors: 3, Build: 4},
		"go-race.json":     {Failed: 1},
		"pytest-shop.txt":  {Passed: 4, Failed: 4, Skipped: 2, Errors: 1}, // 3 passed + 1 xpassed, 1 skipped + 1 xfailed
		"pytest-qlong.txt": {Passed: 4, Failed: 4, Skipped: 2, Errors: 1},
		"pytest-all.txt":   {Errors: 2},
		"jest-all.txt":     {Passed: 2, Failed: 2, Skipped: 2, Errors: 2},
		"vitest-all.txt":   {Passed: 2, Failed: 2, Skipped: 2, Errors: 2},
		"cargo-all.txt":    {Passed: 1, Failed: 5, Skipped: 1},
		"cargo-broken.txt": {Build: 2},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := os.Open("testdata/testrun/" + name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			parse, _ := testParserOf(name)
			r, err := parse(f, srcPaths)
			if err != nil {
				t.Fatal(err)
			}
			got := counts{r.Passed, r.Failed, r.Skipped, r.Errors, len(r.Build)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCutRuns truncates every recording after each line: a run that was killed is never reported as
// passed.
func TestCutRuns(t *testing.T) {
	files, _ := filepath.Glob("testdata/testrun/*-all.*[nt]")
	for _, file := range files {
		if strings.HasSuffix(file, ".golden") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parse, framework := testParserOf(filepath.Base(file))
		for i := 0; i < len(data); i += 37 {
			rep, err := parse(bytes.NewReader(data[:i]), srcPaths)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range []Outcome{{Framework: framework, ExitCode: 137}, {Framework: framework, Ended: "killed", Wall: time.Second}} {
				if v := rep.verdict(o); v == "PASS" {
					t.Fatalf("%s cut at %d is told as %s", file, i, v)
				}
			}
		}
	}
}

func TestVerdict(t *testing.T) {
	pass := Report{Passed: 3, Complete: true}
	for _, tc := range []struct {
		name string
		rep  Report
		out  Outcome
		want string
	}{
		{"all pass", pass, Outcome{}, "PASS"},
		{"runner failed though tests passed", pass, Outcome{ExitCode: 1}, "FAIL"},
		{"killed", pass, Outcome{Ended: "killed after 1s"}, "STOPPED"},
		{"nothing", Report{Complete: true}, Outcome{}, "NO TESTS RAN"},
		{"skipped only", Report{Complete: true, Skipped: 2}, Outcome{}, "NO TESTS RAN"},
		{"no summary", Report{Passed: 3}, Outcome{}, "FAIL"},
		{"garbage", Report{}, Outcome{}, "FAIL"},
		{"one failed, exit 0", Report{Failed: 1, Complete: true}, Outcome{}, "FAIL"},
	} {
		if got := tc.rep.verdict(tc.out); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestTestReportBounds parses a million failures and an endless line; the report stays small and
// the counts exact.
func TestTestReportBounds(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"Action":"output","Package":"p","Test":"T","Output":"` + strings.Repeat("x", 3<<20) + `"}` + "\n")
	for range 20_000 {
		b.WriteString(`{"Action":"run","Package":"p","Test":"T"}` + "\n")
		b.WriteString(`{"Action":"output","Package":"p","Test":"T","Output":"` + strings.Repeat("y", 100) + `\n"}` + "\n")
		b.WriteString(`{"Action":"fail","Package":"p","Test":"T"}` + "\n")
	}
	rep, err := parseGoTestJSON(strings.NewReader(b.String()), srcPaths)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Failed != 20_000 || len(rep.Failures) != maxTestFailures {
		t.Errorf("%d failed, %d kept", rep.Failed, len(rep.Failures))
	}
	if n := len(rep.Render(Outcome{Framework: "go test"})); n > 2*shownReport {
		t.Errorf("the report has %d bytes", n)
	}
}

func TestEachLine(t *testing.T) {
	long := strings.Repeat("a", maxTestLine+5)
	var got []string
	err := eachLine(strings.NewReader("x\r\n\n"+long+"\nlast"), func(line []byte, whole bool) {
		if !whole {
			got = append(got, "cut:"+string(rune('0'+len(line)/maxTestLine)))
			return
		}
		got = append(got, string(line))
	})
	if diff := cmp.Diff([]string{"x", "", "cut:1", "last"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func fuzzTestParser(f *testing.F, prefix string, parse testParser) {
	files, _ := filepath.Glob("testdata/testrun/" + prefix + "-*")
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && !strings.HasSuffix(file, ".golden") {
			// Whole recordings are too long to be mutated often; their parts exercise the same
			// code.
			for part := range slices.Chunk(data, 1500) {
				f.Add(part)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rep, err := parse(bytes.NewReader(data), srcPaths)
		if err != nil {
			t.Fatalf("a reader that does not fail gave %v", err)
		}
		if rep.Passed < 0 || rep.Failed < 0 || rep.Skipped < 0 || rep.Errors < 0 {
			t.Fatalf("negative counts: %+v", rep)
		}
		if len(rep.Failures) > maxTestFailures || len(rep.Build) > maxTestBuild || len(rep.Notes) > maxTestNotes {
			t.Fatalf("bounds: %d %d %d", len(rep.Failures), len(rep.Build), len(rep.Notes))
		}
		for _, fl := range rep.Failures {
			for _, fr := range fl.Frames {
				if filepath.IsAbs(fr.Path) || strings.HasPrefix(fr.Path, "../") {
					t.Fatalf("Frame outside the workspace: %v", fr)
				}
			}
		}
		rep.Render(Outcome{})
	})
}

func FuzzParseGoTestJSON(f *testing.F) { fuzzTestParser(f, "go", parseGoTestJSON) }
func FuzzParsePytest(f *testing.F)     { fuzzTestParser(f, "pytest", ParsePytest) }
func FuzzParseJest(f *testing.F)       { fuzzTestParser(f, "*est", ParseJest) }
func FuzzParseCargo(f *testing.F)      { fuzzTestParser(f, "cargo", ParseCargo) }

func BenchmarkParseGoTestJSON(b *testing.B) {
	data, err := os.ReadFile("testdata/testrun/go-all.json")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseGoTestJSON(bytes.NewReader(data), srcPaths); err != nil {
			b.Fatal(err)
		}
	}
}
