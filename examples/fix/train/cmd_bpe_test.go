package main

import (
	"context"
	"errors"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/luthier-dev/luthier/examples/fix/internal/bpe"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// TestBPE learns a small vocabulary and checks that it is suitable for a repair model: line
// numbers, marks and the names of the tools must be one token each.
func TestBPE(t *testing.T) {
	src := filepath.Join(build.Default.GOROOT, "src")
	if _, err := os.Stat(src); err != nil {
		t.Skip("no Go sources:", err)
	}
	out := filepath.Join(t.TempDir(), "vocab.json")
	err := runBPE(context.Background(), []string{"-out", out, "-size", "700", filepath.Join(src, "strings"), filepath.Join(src, "strconv")})
	if err != nil {
		t.Fatal(err)
	}
	tok, err := bpe.LoadVocab(out)
	if err != nil {
		t.Fatal(err)
	}
	if tok.Size() != 700 {
		t.Errorf("there are %d tokens, want 700", tok.Size())
	}
	one := []string{repair.ToolRun, repair.ToolRead, repair.ToolEdit, repair.ArgNumber, repair.ArgLine, repair.ArgText,
		"<tool_call>", "</tool_call>", "<function=", "</function>", "<parameter=", "</parameter>", "*\t", "!\t", "func"}
	for n := range 100 {
		one = append(one, strconv.Itoa(n))
	}
	for _, s := range one {
		if ids := tok.Encode(s, false); len(ids) != 1 {
			t.Errorf("%q is %d tokens", s, len(ids))
		}
	}
	prompt := repair.State{Report: "FAIL TestX\n1 f", Function: repair.Read(1, repair.Function{File: "f.go", Text: "func f() {\n\tg()\n}"},
		[]repair.Mark{repair.Run, repair.Suspect})}.Prompt() + repair.AnswerEdit(2, "h()")
	if got := tok.Decode(tok.Encode(prompt, true)); got != prompt {
		t.Errorf("%q becomes %q", prompt, got)
	}
}

func TestBPEErrors(t *testing.T) {
	if err := runBPE(context.Background(), []string{filepath.Join(t.TempDir(), "none")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if err := runBPE(context.Background(), []string{t.TempDir()}); err == nil {
		t.Error("an empty directory makes a vocabulary")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := runBPE(ctx, []string{filepath.Join(build.Default.GOROOT, "src", "strings")}); !errors.Is(err, context.Canceled) {
		t.Errorf("after an interrupt: %v", err)
	}
	if err := runBPE(context.Background(), []string{"-size", "many"}); err == nil {
		t.Error("a size of many is taken")
	}
}
