package digest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing to do", "a\n\tb\n\nc", "a\n\tb\n\nc"},
		{"colours", "\x1b[1m\x1b[31mFAILED\x1b[0m x\n", "FAILED x\n"},
		{"a title and a link", "\x1b]0;make\x07a \x1b]8;;http://x.org\x1b\\b\x1b]8;;\x1b\\\n", "a b\n"},
		{"a title without an end", "\x1b]0;make all\nnext\n", "0;make all\nnext\n"},
		{"progress", "10% |##   |\r50% |###  |\r100% |#####|\ndone\n", "100% |#####|\ndone\n"},
		{"lines ended by CR alone are no progress", "Build image\rfirst step\rerror: no space left\r", "Build image\nfirst step\nerror: no space left"},
		{"struck out", "passs\b word\n", "pass word\n"},
		{"CR LF", "a\r\nb\r\r\n", "a\nb\n"},
		{"a CI's marks", "travis_fold:start:x\r\x1b[0K$ make\ntravis_time:end:1:start=2\r\x1b[0K\nok\n", "$ make\nok\n"},
		{"GitHub's times", "2024-01-31T12:30:59.1234567Z ##[group]Run make\n2024-01-31T12:31:00.1234567Z cc a.c\n", "##[group]Run make\ncc a.c\n"},
		{"other times stay", "2024-01-31 12:30:59 started\n\x07", "2024-01-31 12:30:59 started\n"},
		{"blank lines", "a\n\n\n\n\nb\n", "a\n\n\nb\n"},
		{"text beyond ASCII", "Überall ── 日本\x1b[0m\n", "Überall ── 日本\n"},
	} {
		if diff := cmp.Diff(c.want, Clean(c.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestFold(t *testing.T) {
	block := "connecting to the database at localhost\nrefused, will be tried again in a second\nclosing what was opened of the pool\nwaiting\n"
	long := "2024 WARN config: the key retry.policy is not known to this version and will not be honoured, see the manual of the version before it"
	for _, c := range []struct{ name, in, want string }{
		{"short", "a\nb\na\n", "a\nb\na\n"},
		{"the same line", "start\n" + strings.Repeat("waiting for the server to come up\n", 40) + "up\n", "start\nwaiting for the server to come up\n[the same line 39 times more]\nup\n"},
		{"a series", "x\ncompiling module 1 of 40\ncompiling module 2 of 40\ncompiling module 3 of 40\ncompiling module 4 of 40\ncompiling module 5 of 40\ncompiling module 6 of 40\ny\n",
			"x\ncompiling module 1 of 40\n[4 more lines like this]\ncompiling module 6 of 40\ny\n"},
		{"errors are no series", "error in module 1\nerror in module 2\nerror in module 3\nerror in module 4\nerror in module 5\nerror in module 6\n",
			"error in module 1\nerror in module 2\nerror in module 3\nerror in module 4\nerror in module 5\nerror in module 6\n"},
		{"numbers are data", "1 2 3\n4 5 6\n7 8 9\n1 1 1\n2 2 2\n3 3 3\n", "1 2 3\n4 5 6\n7 8 9\n1 1 1\n2 2 2\n3 3 3\n"},
		{"a block", block + "a line between\n" + block + "end\n", block + "a line between\n[4 lines again, from: connecting to the database at localhost]\nend\n"},
		{"a block again and again", strings.Repeat(block, 5) + "end\n", block + "[4 lines again 4 times, from: connecting to the database at localhost]\nend\n"},
		{"a long line", long + "\nb\n" + long + "\nc\n", long + "\nb\n" + long[:40] + "…… [the same line again]\nc\n"},
		{"no end of line", "waiting for it\nwaiting for it\nwaiting for it\nwaiting for it", "waiting for it\n[the same line 3 times more]"},
	} {
		if diff := cmp.Diff(c.want, Fold(c.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
