package luthier_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/tools/coding"
)

// TestInstructionsAreDecoded: an AGENTS.md in an older encoding or in UTF-16 is in the prompt as
// text, decoded as the tools decode files.
//
// Evidence: loop · AGENTS.md is read in the encoding that it has
func TestInstructionsAreDecoded(t *testing.T) {
	for text, enc := range map[string]encoding.Encoding{
		"Répondez toujours en français, s'il vous plaît.": charmap.ISO8859_1,
		"Всегда отвечай по-русски и запускай проверки.":   charmap.Windows1251,
		"请始终用中文回答问题，并运行所有测试。":                             simplifiedchinese.GBK,
		"Always use RULE-X – “please”.":                   unicode.UTF16(unicode.LittleEndian, unicode.UseBOM),
	} {
		dir := t.TempDir()
		data, err := enc.NewEncoder().Bytes([]byte(text + "\r\n"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		system := ""
		c, err := luthier.New(context.Background(), dir, luthier.Options{
			Model: agenttest.Script(), StateDir: t.TempDir(), NoSandbox: true, NoIndex: true,
			Customize: func(_ *coding.Config, a *agent.Config) { system = a.System },
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if !strings.Contains(system, text) || strings.Contains(system, "\x00") {
			t.Errorf("%q is not in the prompt:\n%.300q", text, system[strings.Index(system, "<instructions"):])
		}
	}
}
