package gitlog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCleanMessage(t *testing.T) {
	for _, tt := range []struct{ in, subject, body string }{
		{"", "", ""},
		{"fix it\n", "fix it", ""},
		{"fix it\r\n\r\nwhy\r\n", "fix it", "why"},
		{"fix it (#12)\n\nbody\n\nSigned-off-by: a <a@a>\nCo-Authored-By: b <b@b>\n", "fix it (#12)", "body"},
		{"unix: fix\n\nFixes: #3\nPR-URL: https://github.com/libuv/libuv/pull/42\nReviewed-By: c", "unix: fix", "Fixes: #3\n#42"},
		{"Merge pull request #7 from a/b\n\nAdd the thing\n\nMore.", "Add the thing (#7)", "More."},
		{"Merge pull request #7 from a/b", "", ""},
		{"Merge branch 'main' into x", "", ""},
		{"Merge two lists", "Merge two lists", ""},
		{"bad \xff byte", "bad \uFFFD byte", ""},
		{strings.Repeat("é", 400), strings.Repeat("é", 256), ""},
		{"s\n\n" + strings.Repeat("ab\n", 2000), "s", strings.TrimSuffix(strings.Repeat("ab\n", 683), "\n")[:2048]},
	} {
		subject, body := cleanMessage(tt.in)
		if d := cmp.Diff([]string{tt.subject, tt.body}, []string{subject, body}); d != "" {
			t.Errorf("%.60q (-want +got):\n%s", tt.in, d)
		}
	}
}

func TestNumbers(t *testing.T) {
	c := Commit{Subject: "fix #12 and (#3)", Body: "# heading\n#x #99999999999 see #4"}
	if d := cmp.Diff([]int{12, 3, 999999999, 4}, c.Numbers()); d != "" {
		t.Error("(-want +got):\n" + d)
	}
}

func TestWords(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"a I":                          "",
		"Fix the parser":               "fix the parser",
		"parseHTTPRequest":             "parsehttprequest parse http request",
		"snake_case_name":              "snake_case_name snake case name",
		"__init__":                     "init",
		"HTTPServer2":                  "httpserver2 http server2",
		"größe in naïveWay":            "größe in naïveway naïve way",
		"foo.bar(baz)":                 "foo bar baz",
		strings.Repeat("x", 65) + " y": "",
	} {
		if d := cmp.Diff(want, strings.Join(Words(in), " ")); d != "" {
			t.Errorf("%q (-want +got):\n%s", in, d)
		}
	}
}

func TestPairRenames(t *testing.T) {
	for _, tt := range []struct {
		name    string
		in      []rawChange
		renames []rename
		rest    int
	}{
		{"nothing", nil, nil, 0},
		{"equal content", []rawChange{{"old.go", 'D', "1", "0"}, {"new.go", 'A', "0", "1"}}, []rename{{"old.go", "new.go"}}, 0},
		{"equal name", []rawChange{{"a/x.go", 'D', "1", "0"}, {"b/x.go", 'A', "0", "2"}}, []rename{{"a/x.go", "b/x.go"}}, 0},
		{"equal name, twice", []rawChange{{"a/x.go", 'D', "1", "0"}, {"b/x.go", 'A', "0", "2"}, {"c/x.go", 'A', "0", "3"}}, nil, 3},
		{"common name", []rawChange{{"a/__init__.py", 'D', "1", "0"}, {"b/__init__.py", 'A', "0", "2"}}, nil, 2},
		{"empty files", []rawChange{{"a/x", 'D', emptyHash, "0"}, {"b/y", 'A', "0", emptyHash}}, nil, 2},
		{"equal contents, names decide", []rawChange{{"a/x", 'D', "1", "0"}, {"a/y", 'D', "1", "0"}, {"b/y", 'A', "0", "1"}, {"b/x", 'A', "0", "1"}},
			[]rename{{"a/y", "b/y"}, {"a/x", "b/x"}}, 0},
		{"a copy is none", []rawChange{{"a", 'M', "1", "2"}, {"b", 'A', "0", "1"}}, nil, 2},
	} {
		renames, rest := pairRenames(tt.in)
		if d := cmp.Diff(tt.renames, renames, cmp.AllowUnexported(rename{})); d != "" || len(rest) != tt.rest {
			t.Errorf("%s: %d are left, want %d; (-want +got):\n%s", tt.name, len(rest), tt.rest, d)
		}
	}
}

const emptyHash = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
