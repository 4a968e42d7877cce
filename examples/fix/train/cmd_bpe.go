package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/build"
	"hash/fnv"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/bpe"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/internal/engine/tokenizer"
)

// vocabSpecial returns the tokens that frame prompts and answers, then those that occur in nearly
// every line of them. For the pre-tokenizer, a tool's name is not a single word, nor is a line's
// mark with the tab after it, so they can be single tokens only as special tokens.
func vocabSpecial() []string {
	return []string{
		"<|endoftext|>", "<|im_start|>", "<|im_end|>",
		"<tool_call>", "</tool_call>", "<function=", "</function>", "<parameter=", "</parameter>",
		repair.ToolRun, repair.ToolRead, repair.ToolEdit,
		repair.Run.String() + "\t", repair.Suspect.String() + "\t",
	}
}

// vocabWords returns the numbers of lines and functions, one token each.
func vocabWords() []string {
	var words []string
	for n := 10; n < 100; n++ {
		words = append(words, strconv.Itoa(n))
	}
	return words
}

// runBPE learns the vocabulary from the functions of Go source trees, in the form in which the
// model reads them.
func runBPE(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bpe", flag.ContinueOnError)
	out := flags.String("out", "vocab.json", "file to write")
	size := flags.Int("size", 2048, "number of tokens")
	most := flags.Int("most", 16, "MiB of text taken from one directory")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: train bpe [flags] [DIR...]; without directories, the sources of the standard library")
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	}
	dirs := flags.Args()
	if len(dirs) == 0 {
		dirs = []string{filepath.Join(build.Default.GOROOT, "src")}
	}
	texts := &vocabTexts{ctx: ctx, dirs: dirs, most: *most << 20}
	start := time.Now()
	v, err := bpe.Train(texts.all(), *size, vocabSpecial(), vocabWords()...)
	if err := errors.Join(ctx.Err(), texts.err); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	fmt.Printf("%d tokens from %.1f MB of %d functions in %.1fs\n", len(v.Tokens), float64(texts.bytes)/1e6, texts.functions, time.Since(start).Seconds())
	tok, err := v.Tokenizer()
	if err != nil {
		return err
	}
	texts.measure(tok)
	return v.Save(*out)
}

// vocabTexts reads the functions of source trees. Every fiftieth file is held back for measuring.
type vocabTexts struct {
	ctx       context.Context
	dirs      []string
	most      int // limit of bytes from a directory
	bytes     int
	functions int
	held      []repair.Function
	err       error
}

func (t *vocabTexts) all() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, dir := range t.dirs {
			limit := t.bytes + t.most
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return err // d may be nil
				}
				switch name := d.Name(); {
				case t.ctx.Err() != nil || t.bytes > limit:
					return fs.SkipAll
				case d.IsDir() && path != dir && (name == "testdata" || name == "vendor" || name[0] == '.'):
					return fs.SkipDir
				case d.IsDir() || !strings.HasSuffix(name, ".go"):
					return nil
				}
				src, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				for text := range t.file(path, src) {
					t.bytes += len(text)
					if !yield(text) {
						return fs.SkipAll
					}
				}
				return nil
			})
			if t.err = errors.Join(t.err, err); t.err != nil {
				return
			}
		}
	}
}

// generated matches the comment that marks generated files, see go help generate.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// failure matches the message that a test prints when it fails.
var failure = regexp.MustCompile("(?:Error|Fatal)f?\\([\"`](.*?)[\"`][,)]")

// file yields the prompts and answers in which a file's functions could occur.
func (t *vocabTexts) file(path string, src []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		fns, err := repair.Functions(path, src)
		if err != nil || len(src) > 1<<18 || generated.Match(src) {
			return // a file that does not parse is not valid Go code
		}
		if strings.HasSuffix(path, "_test.go") {
			yield(failures(path, src, fns))
			return
		}
		if hashOf(path)%50 == 0 {
			t.held = append(t.held, fns...)
			return
		}
		report := repair.Report{}
		for _, f := range fns {
			report.Functions = append(report.Functions, f.Name)
		}
		for i, f := range fns {
			t.functions++
			line := int(hashOf(f.Text)) % (f.End - f.Start + 1)
			text := strings.TrimSpace(strings.Split(f.Text, "\n")[line])
			s := repair.State{Function: repair.Read(i%repair.MaxCandidates+1, f, someMarks(f))}
			if i == 0 {
				s.Report = report.String()
			}
			if !yield(s.Prompt() + repair.AnswerRead(i%repair.MaxCandidates+1) + repair.AnswerEdit(line+1, text)) {
				return
			}
		}
	}
}

// failures returns the report of a test file in which all tests fail with all their messages.
func failures(path string, src []byte, fns []repair.Function) string {
	report := repair.Report{}
	for _, f := range fns {
		report.Failed = append(report.Failed, f.Name)
	}
	for i, line := range bytes.Split(src, []byte("\n")) {
		if m := failure.FindSubmatch(line); m != nil {
			report.Output += fmt.Sprintf("%s:%d: %s\n", filepath.Base(path), i+1, m[1])
		}
	}
	return repair.State{Report: report.String()}.Prompt()
}

// someMarks marks the first half of a function as run and its middle as suspect.
func someMarks(f repair.Function) []repair.Mark {
	marks := make([]repair.Mark, (f.End-f.Start)/2+1)
	for i := range marks {
		marks[i] = repair.Run
	}
	marks[len(marks)-1] = repair.Suspect
	return marks
}

func hashOf(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32() >> 1 // positive for any size of int
}

// measure prints the number of tokens in the functions held back.
func (t *vocabTexts) measure(tok *tokenizer.Tokenizer) {
	var code, codeTokens, shown, shownTokens int
	for _, f := range t.held {
		code += len(f.Text)
		codeTokens += len(tok.Encode(f.Text, false))
		text := repair.Read(1, f, someMarks(f))
		shown += len(text)
		shownTokens += len(tok.Encode(text, false))
	}
	if codeTokens > 0 {
		fmt.Printf("%d functions held back: %.3f tokens a byte (%.2f bytes a token), as the model reads them %.3f (%.2f)\n", len(t.held),
			float64(codeTokens)/float64(code), float64(code)/float64(codeTokens),
			float64(shownTokens)/float64(shown), float64(shown)/float64(shownTokens))
	}
}
