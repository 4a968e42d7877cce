package ansi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStrip(t *testing.T) {
	for in, want := range map[string]string{
		"nothing\n\tto do\n":                                            "nothing\n\tto do\n",
		"\x1b[1m\x1b[31mFAIL\x1b[0m x\n":                                "FAIL x\n",
		"\x1b]0;title\x07a \x1b]8;;http://x.org\x1b\\b\x1b]8;;\x1b\\\n": "a b\n",
		"10%\r50%\r100%\ndone\r\n":                                      "100%\ndone\n",
		"passs\b word\x07":                                              "pass word",
		"\u009b31mred\u009b0m\u0085":                                    "red",
		"torn \xc2\x1b[0m\x9b1m end":                                    "torn 1m end",
		"\x1b(B\x1b[?25lÜber 日本\x1b":                                    "Über 日本",
		"a title without an end\x1b]0;x":                                "a title without an end0;x",
	} {
		if diff := cmp.Diff(want, Strip(in)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}

func FuzzStrip(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07x", "a\rb\n", "ab\b\bc", "\x1b", "\x1b[", "\x1bP\x1b\\", "\u009b31m", "é\b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := strings.ToValidUTF8(Strip(s), "\uFFFD")
		for _, r := range out {
			if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
				t.Fatalf("%q leaves %q", s, out)
			}
		}
		if again := Strip(out); again != out {
			t.Fatalf("not stable: %q, then %q", out, again)
		}
		if strings.Count(out, "\n") != strings.Count(s, "\n") {
			t.Fatalf("%q has other lines than %q", out, s)
		}
	})
}
