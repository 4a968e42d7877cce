package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/agent"
)

// TestInstructionEncodings reads AGENTS.md as editors and shells of all systems write it, never
// with NULs or half characters, and lets the host decode other encodings.
func TestInstructionEncodings(t *testing.T) {
	wide := func(mark, s string, big bool) string {
		b := []byte(mark)
		for _, c := range []byte(s) {
			if big {
				b = append(b, 0, c)
			} else {
				b = append(b, c, 0)
			}
		}
		return string(b)
	}
	long := strings.Repeat("é", 40<<10)
	for name, c := range map[string]struct{ data, want string }{
		"UTF-16LE, PowerShell": {wide("\xff\xfe", "Use RULE-X.\r\n", false), "Use RULE-X."},
		"UTF-16BE":             {wide("\xfe\xff", "Use RULE-X.\n", true), "Use RULE-X."},
		"UTF-16 without mark":  {wide("", "Use RULE-X.\n", false), "Use RULE-X."},
		"UTF-8 with mark":      {"\xef\xbb\xbfUse RULE-X.\n", "Use RULE-X."},
		"broken UTF-8":         {"Use \xe9 RULE-X.\n", "Use \uFFFD RULE-X."},
		"binary":               {"\x00\x01\x02\x03", "[AGENTS.md is not a text file and was left out]"},
		"long":                 {long, long[:64<<10]},
		"long, odd":            {"x" + long, "x" + long[:64<<10-2]},
		"long UTF-16":          {wide("\xff\xfe", strings.Repeat("abcdefgh", 8<<10), false), strings.Repeat("abcdefgh", 4<<10)[:32<<10-1]},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte(c.data), 0o644); err != nil {
			t.Fatal(err)
		}
		ins, err := agent.FindInstructions(dir, ".")
		if err != nil || len(ins) != 1 {
			t.Fatalf("%s: %v %v", name, ins, err)
		}
		text, cut, _ := strings.Cut(ins[0].Text, "\n[…")
		if text != c.want || (cut != "") != strings.HasPrefix(name, "long") || !utf8.ValidString(text) {
			t.Errorf("%s: %d bytes, %.60q, cut %q", name, len(text), text, cut)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "RULES"), []byte("caf\xe9"), 0o644); err != nil {
		t.Fatal(err)
	}
	latin := agent.Instructions{Workspace: dir, Names: []string{"RULES"}, Decode: func(data []byte) (string, bool) {
		return strings.ReplaceAll(string(data), "\xe9", "é"), true
	}}
	if ins, err := latin.Find("."); err != nil || len(ins) != 1 || ins[0].Text != "café" {
		t.Errorf("%v %v", ins, err)
	}
}
