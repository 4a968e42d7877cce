package shelleffects

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/luthier-dev/luthier/internal/devdata"
)

// lines reads a corpus with one command per line; \N stands for a newline.
func lines(t testing.TB, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for l := range strings.Lines(string(data)) {
		if l = strings.TrimSuffix(l, "\n"); l != "" {
			out = append(out, strings.NewReplacer(`\N`, "\n", `\r`, "\r", `\t`, "\t").Replace(l))
		}
	}
	return out
}

// workspace is the workspace in which the commands of the corpora run.
var workspace = Options{Root: "/ws"}

// Evidence: coding · Only shell commands that are known to read run without approval
func TestReadOnly(t *testing.T) {
	for _, cmd := range lines(t, "testdata/readonly.txt") {
		if a := Analyze(cmd, workspace); !ReadOnly(a) {
			t.Errorf("%q is refused: %v %v", cmd, a.Flags, a.Reasons)
		}
	}
}

// Evidence: coding · Only shell commands that are known to read run without approval
func TestRefused(t *testing.T) {
	for _, cmd := range lines(t, "testdata/refused.txt") {
		if a := Analyze(cmd, workspace); ReadOnly(a) {
			t.Errorf("%q is read-only: reads %v", cmd, a.Reads)
		} else if len(a.Reasons) == 0 {
			t.Errorf("%q is refused without a reason", cmd)
		}
	}
}

// TestReadOtherwise promises that what a shell may read in another way than the parser, and readers
// that follow a file's content elsewhere, do not run by themselves.
//
// Evidence: coding · What bash or dash may read in another way never runs without approval
func TestReadOtherwise(t *testing.T) {
	data, err := os.ReadFile("testdata/otherwise.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(data)) {
		var cmd string
		if err := json.Unmarshal([]byte(l), &cmd); err != nil {
			t.Fatalf("%s: %v", l, err)
		}
		if a := Analyze(cmd, workspace); ReadOnly(a) {
			t.Errorf("%q is read-only: reads %v", cmd, a.Reads)
		} else if len(a.Reasons) == 0 {
			t.Errorf("%q is refused without a reason", cmd)
		}
	}
}

// TestScannerAgrees promises that the scanner and the parser find the same words in all ordinary
// commands: the check for other readings refuses none of them.
func TestScannerAgrees(t *testing.T) {
	for _, cmd := range lines(t, "testdata/readonly.txt") {
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(cmd), "")
		if err != nil {
			t.Fatalf("%q: %v", cmd, err)
		}
		if why := agree(cmd, file); why != "" {
			t.Errorf("%q %s", cmd, why)
		}
	}
}

func TestSecret(t *testing.T) {
	for _, cmd := range lines(t, "testdata/secret.txt") {
		if ReadOnly(Analyze(cmd, workspace)) {
			t.Errorf("%q is read-only", cmd)
		}
	}
}

// TestDevelopmentSet analyses the labelled commands of the development data.
func TestDevelopmentSet(t *testing.T) {
	f, err := os.Open(devdata.Path(t, "tools-dev/shell-autoapprove.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var c struct {
			Cmd      string
			ReadOnly any
		}
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if got := ReadOnly(Analyze(c.Cmd, workspace)); got != (c.ReadOnly == true) {
			t.Errorf("%q: %v, labelled %v", c.Cmd, got, c.ReadOnly)
		}
	}
}
