package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// fact is a part of a log that a digest must keep: one of the strings of Match.
type fact struct {
	Type  string   `json:"type"`
	Value string   `json:"value"`
	Match []string `json:"match"`
	Src   string   `json:"src"`
}

// record is a line of logs.jsonl.
type record struct {
	ID       string `json:"id"`
	Split    string `json:"split"`
	Kind     string `json:"kind"`
	Tool     string `json:"tool"`
	LabelSrc string `json:"label_src"`
	Bytes    int    `json:"bytes"`
	Lines    int    `json:"lines"`
	Text     string `json:"text"`
	Facts    []fact `json:"facts"`
}

// log is a record under construction.
type log struct {
	record
	*rand.Rand
	b strings.Builder
}

func newLog(tool string, seed uint64) *log {
	return &log{record: record{ID: "made-" + strings.ReplaceAll(tool, " ", "-"), Split: "dev", Kind: "test-log", Tool: tool, LabelSrc: "made"},
		Rand: rand.New(rand.NewPCG(seed, 3))}
}

func (l *log) line(format string, args ...any) { fmt.Fprintf(&l.b, format+"\n", args...) }

// must writes a line and labels a part of it as a fact to keep. Tests and errors are labelled as
// belonging to the log's own tool.
func (l *log) must(kind, part, format string, args ...any) {
	l.line(format, args...)
	l.label(kind, part)
}

func (l *log) label(kind, part string) {
	src := "regex"
	if kind == "failing_test" || kind == "error" {
		src = "made"
	}
	l.Facts = append(l.Facts, fact{Type: kind, Value: part, Match: []string{part}, Src: src})
}

// word returns a made-up name.
func (l *log) word() string {
	parts := []string{"ba", "ke", "mo", "ri", "tu", "lan", "ves", "dor", "pim", "sel", "qua", "zor"}
	return parts[l.IntN(12)] + parts[l.IntN(12)] + parts[l.IntN(12)]
}

func (l *log) end() record {
	l.Text = l.b.String()
	l.Bytes, l.Lines = len(l.Text), strings.Count(l.Text, "\n")
	return l.record
}

// logs returns logs by four tools, of at least 40 kB each, and a small one.
func logs() map[string][]byte {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, l := range []*log{goLog(), pytestLog(), mavenLog(), jestLog(), cargoLog()} {
		if err := enc.Encode(l.end()); err != nil {
			panic(err)
		}
	}
	return map[string][]byte{"compaction-dev/logs/logs.jsonl": []byte(out.String())}
}

const large = 41_000 // bytes: a little above the size at which a log counts as large

func goLog() *log {
	l := newLog("go test -v", 1)
	for i := 0; l.b.Len() < large; i++ {
		name := "Test" + strings.ToUpper(l.word()[:1]) + l.word()
		l.line("=== RUN   %s", name)
		if l.IntN(4) == 0 {
			l.line("    %s_test.go:%d: stored %d of %d %s", l.word(), 10+l.IntN(300), l.IntN(50), 50, l.word())
		}
		if l.b.Len() > large/2 && len(l.Facts) < 3 {
			l.line("=== RUN   TestPourFillsAll")
			l.must("location", "pour_test.go:41", "    pour_test.go:41: Pour(3) leaves 2 cups empty, want 0")
			l.must("failing_test", "TestPourFillsAll", "--- FAIL: TestPourFillsAll (0.03s)")
			l.line("=== RUN   TestRinse")
			l.must("error", "open lid.json: no such file or directory", "    rinse_test.go:17: open lid.json: no such file or directory")
			l.must("failing_test", "TestRinse", "--- FAIL: TestRinse (0.01s)")
			l.line("=== RUN   %s", name)
		}
		l.line("--- PASS: %s (0.%02ds)", name, l.IntN(90))
	}
	l.line("FAIL")
	l.must("summary", "example.com/tea/pot", "FAIL\texample.com/tea/pot\t4.112s")
	l.line("FAIL")
	return l
}

func pytestLog() *log {
	l := newLog("pytest", 2)
	l.line("============================= test session starts ==============================")
	l.line("platform linux -- Python 3.12.1, pytest-8.0.0, pluggy-1.4.0 -- /usr/bin/python3\nrootdir: /home/dev/tea\ncollected 412 items\n")
	for i := 1; l.b.Len() < large; i++ {
		l.line("tests/test_%s.py::test_%s_%s PASSED%s[%3d%%]", l.word(), l.word(), l.word(), strings.Repeat(" ", 20+l.IntN(12)), min(99, i/5))
	}
	l.line("tests/test_kettle.py::test_boils_at_sea_level FAILED                     [ 99%%]")
	l.line("tests/test_kettle.py::test_lid_is_shut FAILED                            [100%%]\n")
	l.line("=================================== FAILURES ===================================")
	l.line("___________________________ test_boils_at_sea_level ____________________________\n")
	l.line("    def test_boils_at_sea_level():\n        kettle = Kettle(litres=1)\n>       assert kettle.boil() == 100")
	l.must("error", "assert 95 == 100", "E       assert 95 == 100\nE        +  where 95 = boil()\n")
	l.must("location", "tests/test_kettle.py:23", "tests/test_kettle.py:23: AssertionError")
	l.line("_______________________________ test_lid_is_shut _______________________________\n")
	l.line("    def test_lid_is_shut():\n>       Kettle().lid.shut()")
	l.must("error", "AttributeError: 'NoneType' object has no attribute 'shut'", "E       AttributeError: 'NoneType' object has no attribute 'shut'\n")
	l.must("location", "tests/test_kettle.py:31", "tests/test_kettle.py:31: AttributeError")
	l.line("=========================== short test summary info ============================")
	l.must("failing_test", "tests/test_kettle.py::test_boils_at_sea_level", "FAILED tests/test_kettle.py::test_boils_at_sea_level - assert 95 == 100")
	l.must("failing_test", "tests/test_kettle.py::test_lid_is_shut", "FAILED tests/test_kettle.py::test_lid_is_shut - AttributeError: 'NoneType' obj...")
	l.must("summary", "2 failed, 410 passed", "================== 2 failed, 410 passed in 12.81s ===================")
	return l
}

func mavenLog() *log {
	l := newLog("maven", 3)
	l.line("[INFO] Scanning for projects...\n[INFO] Building tea-house 1.4.0-SNAPSHOT\n[INFO] --------------------------------[ jar ]---------------------------------")
	for l.b.Len() < large {
		switch l.IntN(3) {
		case 0:
			l.line("[INFO] Downloading from central: https://repo.example.com/maven2/org/%s/%s/%d.%d/%s.pom", l.word(), l.word(), l.IntN(9), l.IntN(20), l.word())
		case 1:
			l.line("[INFO] Downloaded from central: https://repo.example.com/maven2/org/%s/%s.jar (%d kB at %d kB/s)", l.word(), l.word(), l.IntN(900), l.IntN(800))
		default:
			l.line("[INFO] Tests run: %d, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.%03d s - in org.tea.%s.%sTest", 1+l.IntN(20), l.IntN(999), l.word(), l.word())
		}
	}
	l.line("[ERROR] Tests run: 6, Failures: 1, Errors: 1, Skipped: 0, Time elapsed: 0.211 s <<< FAILURE! - in org.tea.TrayTest")
	l.must("failing_test", "holdsSixCups", "[ERROR] holdsSixCups(org.tea.TrayTest)  Time elapsed: 0.013 s  <<< FAILURE!")
	l.must("error", "expected:<6> but was:<5>", "java.lang.AssertionError: expected:<6> but was:<5>")
	l.must("location", "TrayTest.java:52", "\tat org.tea.TrayTest.holdsSixCups(TrayTest.java:52)\n")
	l.must("failing_test", "refusesNull", "[ERROR] refusesNull(org.tea.TrayTest)  Time elapsed: 0.002 s  <<< ERROR!")
	l.must("error", "java.lang.NullPointerException: cup", "java.lang.NullPointerException: cup\n\tat org.tea.Tray.add(Tray.java:19)\n\tat org.tea.TrayTest.refusesNull(TrayTest.java:60)\n")
	l.line("[INFO] Results:\n[INFO] ")
	l.must("summary", "Tests run: 811, Failures: 1, Errors: 1, Skipped: 0", "[ERROR] Tests run: 811, Failures: 1, Errors: 1, Skipped: 0")
	l.line("[INFO] ------------------------------------------------------------------------")
	l.must("summary", "BUILD FAILURE", "[INFO] BUILD FAILURE")
	l.line("[INFO] ------------------------------------------------------------------------\n[INFO] Total time:  31.402 s")
	return l
}

func jestLog() *log {
	l := newLog("jest", 4)
	l.line("> tea-house@2.1.0 test\n> jest --verbose\n")
	for l.b.Len() < large {
		l.line("PASS src/%s/%s.test.ts (%d.%03d s)\n  %s", l.word(), l.word(), l.IntN(4), l.IntN(999), l.word())
		for range 3 + l.IntN(5) {
			l.line("    ✓ %s %s %s (%d ms)", l.word(), l.word(), l.word(), 1+l.IntN(90))
		}
	}
	l.line("FAIL src/tray/tray.test.ts\n  Tray")
	l.line("    ✓ starts empty (2 ms)\n    ✕ refuses a seventh cup (7 ms)\n\n  ● Tray › refuses a seventh cup\n")
	l.label("failing_test", "refuses a seventh cup")
	l.must("error", "expect(received).toThrow(expected)", "    expect(received).toThrow(expected)\n\n    Expected substring: \"the tray is full\"\n    Received function did not throw\n")
	l.line("      21 |     for (let i = 0; i < 6; i++) tray.add(cup());\n    > 22 |     expect(() => tray.add(cup())).toThrow(\"the tray is full\");\n         |                                   ^\n")
	l.must("location", "src/tray/tray.test.ts:22", "      at Object.<anonymous> (src/tray/tray.test.ts:22:35)\n")
	l.line("Test Suites: 1 failed, 63 passed, 64 total")
	l.must("summary", "1 failed, 402 passed, 403 total", "Tests:       1 failed, 402 passed, 403 total")
	l.line("Snapshots:   0 total\nTime:        19.204 s\nRan all test suites.")
	return l
}

func cargoLog() *log {
	l := newLog("cargo clippy", 5)
	for range 60 {
		l.line("   Compiling %s v%d.%d.%d", l.word(), l.IntN(3), l.IntN(20), l.IntN(9))
	}
	l.must("error", "error[E0382]: borrow of moved value: `cup`", "error[E0382]: borrow of moved value: `cup`")
	l.must("location", "src/tray.rs:14:20", "  --> src/tray.rs:14:20")
	l.line("   |\n12 |     let cup = Cup::new();\n   |         --- move occurs because `cup` has type `Cup`, which does not implement the `Copy` trait\n13 |     self.cups.push(cup);\n   |                    --- value moved here\n14 |     println!(\"{}\", cup.size);\n   |                    ^^^^^^^^ value borrowed here after move\n")
	l.must("summary", "could not compile `tea`", "error: could not compile `tea` (lib) due to 1 previous error")
	return l
}
