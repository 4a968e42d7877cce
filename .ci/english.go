//go:build ignore

// Command english finds mechanical faults of style in comments, Markdown pages and commit subjects:
// see CONTRIBUTING.md, Style. The rest of plain English needs a reader.
//
// Usage, in the repository: go run .ci/english.go [-count] [-since COMMIT] [DIRECTORY ...]
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"unicode/utf8"
)

// width is the column at which comments wrap, counting a tab as four.
const width = 100

// words are patterns with suggested replacements.
var words = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\bbeside\b`), "with, besides, next to"},
	{regexp.MustCompile(`(?i)\bbut for\b`), "except"},
	{regexp.MustCompile(`(?i)\banew\b`), "again"},
	{regexp.MustCompile(`(?i)\bto be had\b`), "available"},
	{regexp.MustCompile(`(?i)\b(is|are|was|were|be|been) told\b`), "receives, learns"},
	{regexp.MustCompile(`(?i)\bas far as\b`), "where, if"},
	{regexp.MustCompile(`(?i)\bmend(s|ed|ing)?\b`), "repair, fix"},
	{regexp.MustCompile(`(?i)\bforeign\b`), "third-party, untrusted"},
	{regexp.MustCompile(`(?i)\b(is|are|was|were|be|been) thought of\b`), "considered"},
	{regexp.MustCompile(`(?i)\blearnt\b`), "learned"},
	{regexp.MustCompile(`(?i)\b(thereof|whereof|therein|wherein|hitherto|likewise|henceforth)\b`), "a plain word"},
	{regexp.MustCompile(`(?i)\bsaid (once|in one place)\b`), "one name or one function"},
}

// first matches first sentences of declaration comments that do not say what the thing does.
var first = regexp.MustCompile(`^(?:(?:A|An|The) )?[\w.]+ (?:(?:is|are) (?:what|how (?:many|much|long|far|often)|those|that (?:of|which))|tells?|gives?) `)

var subject = regexp.MustCompile(`^[\w./{},* -]+: \S`)

var hits = map[string]int{}

func hit(rule, where, text, instead string) {
	hits[rule]++
	if !*count {
		fmt.Printf("%s: %s: %.120s (%s)\n", where, rule, strings.TrimSpace(text), instead)
	}
}

var count = flag.Bool("count", false, "print only how many hits each rule has")

func main() {
	since := flag.String("since", "", "also check the subjects of the commits after this one")
	flag.Parse()
	for name := range strings.SplitSeq(output(append([]string{"ls-files", "-z", "--"}, flag.Args()...)...), "\x00") {
		switch {
		case strings.Contains(name, "testdata/"):
		case strings.HasSuffix(name, ".go"):
			source(name)
		case strings.HasSuffix(name, ".md") && !strings.Contains(name, "prompt"):
			page(name)
		}
	}
	if *since != "" {
		for s := range strings.Lines(output("log", "--no-merges", "--format=%s", *since+"..HEAD")) {
			if s = strings.TrimSpace(s); utf8.RuneCountInString(s) > 72 {
				hit("long subject", "git log", s, "72 characters at the most")
			} else if !subject.MatchString(s) {
				hit("subject", "git log", s, "pkg: verb object")
			}
		}
	}
	total := 0
	for rule, n := range hits {
		fmt.Printf("%6d %s\n", n, rule)
		total += n
	}
	if total > 0 {
		os.Exit(1)
	}
}

func output(args ...string) string {
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, "english: git:", err)
		os.Exit(2)
	}
	return string(out)
}

// source checks the comments of a Go file.
func source(name string) {
	text, err := os.ReadFile(name)
	if err != nil || bytes.HasPrefix(text, []byte("// Code generated")) {
		return
	}
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return // go vet reports it
	}
	lines := strings.Split(string(text), "\n")
	for _, group := range f.Comments {
		outputs := false // whether this is the expected output of an example
		for _, c := range group.List {
			at := files.Position(c.Pos())
			for i, line := range strings.Split(c.Text, "\n") {
				where := fmt.Sprintf("%s:%d", name, at.Line+i)
				outputs = outputs || strings.HasPrefix(line, "// Output:") || strings.HasPrefix(line, "// Unordered output:")
				if outputs || strings.HasPrefix(line, "//go:") {
					continue
				}
				phrases(where, line)
				whole := lines[at.Line+i-1]
				code := strings.TrimSpace(whole) != strings.TrimSpace(line) // a trailing comment is as wide as the code needs
				if n := columns(whole); n > width && !code && !strings.HasPrefix(line, "//\t") && !strings.Contains(line, "://") {
					hit("wide", where, line, fmt.Sprintf("%d columns, want %d", n, width))
				}
			}
		}
	}
	opening := func(doc *ast.CommentGroup) {
		if doc != nil {
			if t := doc.Text(); first.MatchString(t) {
				hit("verb", files.Position(doc.Pos()).String(), t, "say what it does, returns or holds")
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			opening(n.Doc)
		case *ast.GenDecl:
			opening(n.Doc)
		case *ast.TypeSpec:
			opening(n.Doc)
		case *ast.ValueSpec:
			opening(n.Doc)
		case *ast.Field:
			opening(n.Doc)
		}
		return true
	})
}

// page checks a Markdown page except for its code blocks.
func page(name string) {
	f, err := os.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	in, n, code := bufio.NewScanner(f), 0, false
	for in.Scan() {
		n++
		if line := in.Text(); strings.HasPrefix(line, "```") {
			code = !code
		} else if !code {
			phrases(fmt.Sprintf("%s:%d", name, n), line)
		}
	}
}

func phrases(where, line string) {
	line = code.ReplaceAllString(line, "")
	for _, w := range words {
		if m := w.pattern.FindString(line); m != "" {
			hit(strings.ToLower(m), where, line, w.instead)
		}
	}
}

// code matches a name or a command in a page or a comment.
var code = regexp.MustCompile("`[^`]*`")

func columns(line string) int {
	return utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
}
