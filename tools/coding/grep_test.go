//go:build unix

package coding

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/luthier-dev/luthier/internal/tier"
)

func TestGrep(t *testing.T) {
	w := openWith(t, Config{Ripgrep: noRipgrep, Limits: Limits{LineBytes: 60}}, files{
		"a.go": "package a\n\nfunc One() {}\nfunc Two() {}\n\nvar x = One\n", "b/b.py": "def one():\n    return One\n", "c.txt": "one\r\ntwo\r\n",
		"bin": "One\x00", "late": strings.Repeat("One\n", 10) + "\x00", ".gitignore": "skip/\n", "skip/s.go": "func One() {}\n",
		"long": strings.Repeat("x", 300) + "NEEDLE" + strings.Repeat("y", 300) + "\n",
	})
	for _, c := range []struct {
		in   args
		want string
	}{
		{args{"pattern": "One"}, "a.go\n3:func One() {}\n6:var x = One\nb/b.py\n2:    return One\n(3 matching lines in 2 files)"},
		{args{"pattern": `func (\w+)\(`, "glob": "*.go"}, "a.go\n3:func One() {}\n4:func Two() {}\n(2 matching lines in 1 file)"},
		{args{"pattern": "one$", "type": "txt"}, "c.txt\n1:one\n(1 matching line in 1 file)"},
		{args{"pattern": "^two$"}, "c.txt\n2:two\n(1 matching line in 1 file)"},
		{args{"pattern": "ONE", "ignore_case": true, "mode": "count"}, "a.go: 2\nb/b.py: 2\nc.txt: 1\n(5 matching lines in 3 files)"},
		{args{"pattern": "one", "mode": "files"}, "b/b.py\nc.txt\n(2 matching lines in 2 files)"},
		{args{"pattern": "Two", "context": 1}, "a.go\n3-func One() {}\n4:func Two() {}\n5-\n(1 matching line in 1 file)"},
		{args{"pattern": "package|var", "after": 1}, "a.go\n1:package a\n2-\n--\n6:var x = One\n(2 matching lines in 1 file)"},
		{args{"pattern": "One() {}", "literal": true, "path": "a.go"}, "a.go\n3:func One() {}\n(1 matching line in 1 file)"},
		{args{"pattern": "return One", "path": "b"}, "b/b.py\n2:    return One\n(1 matching line in 1 file)"},
		{args{"pattern": `\{\}\nfunc`}, "a.go\n3:func One() {}\n4:func Two() {}\n(2 matching lines in 1 file)"},
		{args{"pattern": `One.*?Two`, "multiline": true}, "No match for \"One.*?Two\" in ..\n(try ignore_case, a shorter pattern or another path; files that .gitignore leaves out were not searched)"},
		{args{"pattern": `(?s)One.*?Two`, "multiline": true}, "a.go\n3:func One() {}\n4:func Two() {}\n(2 matching lines in 1 file)"},
		{args{"pattern": "One", "path": "skip"}, "skip/s.go\n1:func One() {}\n(1 matching line in 1 file)"},
		{args{"pattern": "One", "ignored": true, "mode": "files"}, "a.go\nb/b.py\nskip/s.go\n(4 matching lines in 3 files)"},
		{args{"pattern": "One", "limit": 1}, "a.go\n3:func One() {}\n(3 matching lines in 2 files, of which 1 in 1 file are shown; narrow the search or raise limit)"},
		{args{"pattern": "NEEDLE"}, "long\n1:[285 bytes before] …xxxxxxxxxxxxxxxNEEDLE" + strings.Repeat("y", 39) + "… [261 bytes more on this line]\n(1 matching line in 1 file)"},
		{args{"pattern": "x", "glob": "*.none"}, "No match for \"x\" in ..\n(try ignore_case, a shorter pattern or another path; files that .gitignore leaves out were not searched)"},
	} {
		if d := cmp.Diff(c.want, do(t, w, "grep", c.in)); d != "" {
			t.Errorf("%v (-want +got):\n%s", c.in, d)
		}
	}
	refused(t, w, "grep", args{"pattern": "(a"}, "not a regular expression", "literal")
	refused(t, w, "grep", args{"pattern": "a(?!b)"}, "look-around is not supported")
	refused(t, w, "grep", args{"pattern": ""}, "empty")
	refused(t, w, "grep", args{"pattern": "a", "type": "cobol"}, "not known", "go, ")
	refused(t, w, "grep", args{"pattern": "a", "glob": "[z"}, "malformed")
	refused(t, w, "grep", args{"pattern": "a", "path": "nope"}, "does not exist")
}

// both opens the directory twice: with ripgrep and with the built-in search.
func both(t testing.TB, dir string) (rg, own *Workspace) {
	t.Helper()
	if _, err := exec.LookPath("rg"); err != nil {
		t.Skip("ripgrep is not installed")
	}
	limits := Limits{MaxResults: 1 << 20, ReadBytes: 256 << 20}
	rg, own = openAt(t, dir, Config{Limits: limits}), openAt(t, dir, Config{Limits: limits, Ripgrep: noRipgrep})
	own.grepPiece = 1000 // so that small files are read in several pieces
	return rg, own
}

func sameGrep(t testing.TB, rg, own *Workspace, in args) (matched bool) {
	t.Helper()
	in["limit"] = 1 << 20
	a, errA := try(t, rg, "grep", in)
	b, errB := try(t, own, "grep", in)
	if (errA == nil) != (errB == nil) {
		t.Fatalf("%v: ripgrep %v, built-in %v", in, errA, errB)
	}
	if a != b {
		d := cmp.Diff(strings.Split(a, "\n"), strings.Split(b, "\n"))
		t.Errorf("%v (-ripgrep +built-in):\n%.3000s", in, d)
	}
	return errA == nil && !strings.HasPrefix(a, "No match")
}

var filler = strings.Repeat("filler text ", 400) + "\n"

// nasty is a tree of files that searches tend to get wrong.
var nasty = files{
	"plain.txt": "alpha beta\ngamma\n", "crlf.txt": "alpha\r\nbeta\r\n\r\ngamma", "cr.txt": "alpha\rbeta\rgamma\n", "bom.txt": bomUTF8 + "alpha\nbeta\n",
	"le.txt": bomLE + "a\x00l\x00p\x00h\x00a\x00\n\x00b\x00\n\x00", "be.txt": bomBE + "\x00a\x00l\x00p\x00h\x00a\x00\n", "no16.txt": "a\x00l\x00p\x00h\x00a\x00\n\x00",
	"nul-first.bin": "\x00alpha\n", "nul-late.bin": strings.Repeat("alpha\n", 100) + strings.Repeat(filler, 18) + "\x00", "nul-after.bin": "alpha\n" + strings.Repeat(filler, 18) + "\x00\n",
	"empty": "", "newline-only": "\n", "no-eol": "last alpha", "blank-lines": "\n\n\nalpha\n\n\n",
	"unicode.txt": "ÄPFEL äpfel straße ſ K Σσς\nalpha_βeta\nnaïve café\n١٢٣ 123\n\u00a0nbsp\n", "long.txt": strings.Repeat("z", 10_000) + " alpha " + strings.Repeat("z", 10_000) + "\n",
	"big.txt": strings.Repeat(filler, 5) + "alpha near the end\n", "dense.txt": strings.Repeat("alpha\n", 300),
	"new\nline.txt": "alpha\n", "co:lon:1:.txt": "alpha\n", " lead and trail ": "alpha\n", "-dash.txt": "alpha\n", "quote\"s.txt": "alpha\n", "tab\t.txt": "alpha\n", "bytes\xff\xfe.txt": "alpha\n",
	".hidden/file": "alpha\n", ".git/config": "alpha\n", "sub/.git": "gitdir: alpha\n", "sub/.git2": "alpha\n",
	".gitignore": "ignored/\n*.skip\n!keep.skip\n/only-root\n", "ignored/a": "alpha\n", "x.skip": "alpha\n", "keep.skip": "alpha\n", "only-root": "alpha\n",
	"deep/only-root": "alpha\n", "deep/.gitignore": "*.txt\n!yes.txt\n", "deep/no.txt": "alpha\n", "deep/yes.txt": "alpha\n", "deep/er/no.txt": "alpha\n",
	".ignore": "plain.txt\n", ".luthier-00112233aabbccdd.tmp": "alpha\n",
}

// Evidence: coding · grep gives the same answers with ripgrep and without
func TestRipgrepAgrees(t *testing.T) {
	tier.Normal(t)
	for _, repo := range []bool{true, false} {
		t.Run(fmt.Sprintf("repository=%v", repo), func(t *testing.T) {
			dir := t.TempDir()
			tree := nasty
			if !repo {
				tree = files{}
				for name, text := range nasty {
					if !strings.HasPrefix(name, ".git/") {
						tree[name] = text
					}
				}
			}
			tree.write(t, dir)
			link(t, ".", dir, "self")
			link(t, "plain.txt", dir, "alias.txt")
			rg, own := both(t, dir)
			hits := 0
			for i, p := range []string{
				"alpha", "^alpha$", "a$", "^$", "^", "$", ".", "", "x*", `\balpha\b`, `\Balpha`, `\w+`, `\W+`, `\d+`, `\s+$`, `[^a]`, `[^a-z\s]+`, "(?i)ÄPFEL", "(?i)alpha",
				"(?i)k", "(?i)s", "[äÄ]pfel", "é", `\pL+`, `\p{Greek}`, "alpha.*beta", "alpha|beta", "(al)(pha)", `al\x70ha`, `\Aalpha`, `a\z`, `[[:upper:]]+`, "z{10}", "a{2,}",
				`[&&-]`, `[~]`, `[\]]`, `\.`, `a\b`, "\t", `gamma$`, "alpha\nbeta", `alpha\s+beta`, "(?-m:^)alpha", `[\n]`, `[^\n]+`, "zz+ alpha",
			} {
				options := []args{{}, {"ignore_case": true}, {"context": 2}, {"before": 1}, {"mode": "count"}, {"mode": "files"}, {"ignored": true}, {"multiline": true}, {"literal": true}, {"path": "deep"}, {"path": "ignored"}, {"glob": "*.txt"}}
				switch {
				case testing.Short() && (!repo || i%3 > 0):
					continue
				case testing.Short() || !repo:
					options = options[:1]
				case i > 8: // every option with some patterns, every pattern with some options
					options = []args{options[i%len(options)], options[(i+5)%len(options)]}
				}
				for _, in := range options {
					in["pattern"] = p
					if p == "" {
						in["pattern"] = "(?:)"
					}
					if sameGrep(t, rg, own, in) {
						hits++
					}
					if t.Failed() {
						return
					}
				}
			}
			if hits < 30 && !testing.Short() {
				t.Errorf("only %d searches found anything", hits)
			}
			t.Logf("%d searches found something", hits)
		})
	}
}

// TestRipgrepAgreesOnARealTree searches a part of the Go distribution: thousands of files, test
// data and binaries.
func TestRipgrepAgreesOnARealTree(t *testing.T) {
	tier.Normal(t)
	dir := filepath.Join(runtime.GOROOT(), "src", "internal")
	if testing.Short() {
		dir = filepath.Join(runtime.GOROOT(), "src", "net")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the Go distribution's source is not there")
	}
	rg, own := both(t, dir)
	found := 0
	start := time.Now()
	defer func() { t.Logf("in %v", time.Since(start)) }()
	for _, in := range []args{
		{"pattern": `func \(\w+ \*?\w+\) Close\(`}, {"pattern": "TODO", "context": 2}, {"pattern": `\berrors\.New\b`, "mode": "count"}, {"pattern": "(?i)deprecated", "type": "go", "mode": "files"},
		{"pattern": `^package \w+$`, "glob": "**/testdata/**"}, {"pattern": `[^\x00-\x7F]`}, {"pattern": `if err != nil \{\n\t+return err\n`, "multiline": true, "mode": "count"}, {"pattern": "\u00e9|\u4e16"},
	} {
		if sameGrep(t, rg, own, in) {
			found++
		}
	}
	if found < 6 {
		t.Errorf("only %d searches found anything", found)
	}
}

// TestRandomPatternsAgree checks that both searches agree on random patterns made of pieces.
func TestRandomPatternsAgree(t *testing.T) {
	tier.Normal(t)
	dir := t.TempDir()
	text := strings.Builder{}
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		for range r.IntN(12) {
			text.WriteString([]string{"a", "b", "ab", " ", "_", "é", "1", ".", "-", "A", "\t"}[r.IntN(11)])
		}
		text.WriteString([]string{"\n", "\n", "\r\n"}[r.IntN(3)])
	}
	files{"f": text.String()}.write(t, dir)
	rg, own := both(t, dir)
	n, hits := 300, 0
	if testing.Short() {
		n = 40
	}
	for range n {
		p := ""
		for range 1 + r.IntN(5) {
			p += []string{"a", "b", "[ab]", "[^a]", ".", "a*", "b+", "(a|b)", "^", "$", `\b`, `\w`, `\s`, `\d`, "é", "_?", "a{2}", "(?i:A)", `\.`, `\S`, `\B`, "[^b-é]"}[r.IntN(22)]
		}
		if _, err := syntax.Parse(p, syntax.Perl); err != nil {
			continue
		}
		if sameGrep(t, rg, own, args{"pattern": p, "context": r.IntN(3)}) {
			hits++
		}
		if t.Failed() {
			return
		}
	}
	if hits < n/3 {
		t.Errorf("only %d of %d patterns matched", hits, n)
	}
}

// FuzzGrepScan compares the search in pieces with a match line by line.
func FuzzGrepScan(f *testing.F) {
	f.Add("a+b", "xab\nb\r\naab", 3, 1)
	f.Add("^$", "\n\n\nx", 1, 2)
	f.Add("[^x]$", "x\r\ny\r\n", 2, 0)
	f.Add(`\bfoo`, "foo\nbar foo", 100, 3)
	f.Add("", "a\nb", 2, 0)
	f.Fuzz(func(t *testing.T, pattern, text string, cut, around int) {
		p, err := compileGrep(pattern, false, false, false)
		if err != nil || p.multiline || len(text) > 10_000 || strings.Contains(text, bomUTF8) {
			return
		}
		around = max(0, around%5)
		s := &grepScan{p: p, before: around, after: around, maxLines: -1, lineBytes: 1 << 20}
		rest := text
		for cut = 1 + max(0, cut%50); len(rest) > cut; {
			i := strings.LastIndexByte(rest[:cut], '\n') + 1
			if i == 0 {
				if i = strings.IndexByte(rest, '\n') + 1; i == 0 {
					break
				}
			}
			s.piece([]byte(rest[:i]))
			rest = rest[i:]
		}
		s.piece([]byte(rest))
		lines := strings.SplitAfter(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		match := func(i int) bool { return i >= 0 && i < len(lines) && p.matchLine([]byte(lines[i])) }
		var want []grepLine
		count := 0
		for i, line := range lines {
			near := false
			for d := -around; d <= around; d++ {
				near = near || match(i+d)
			}
			if match(i) {
				count++
			}
			if near {
				want = append(want, grepLine{i + 1, strings.ToValidUTF8(strings.TrimRight(line, "\r\n"), "\uFFFD"), match(i)})
			}
		}
		if d := cmp.Diff(want, s.out.lines, cmp.AllowUnexported(grepLine{})); d != "" || s.out.count != count {
			t.Fatalf("pattern %q, text %q, pieces of %d, context %d, %d matches (-line by line +pieces):\n%s", pattern, text, cut, around, s.out.count, d)
		}
	})
}

// FuzzGrepPattern checks that rewriting a pattern does not change which lines match.
func FuzzGrepPattern(f *testing.F) {
	for _, p := range []string{"a", "a$", "^a", `\s+`, "[^b]", "(?i)k", `\Aa\z`, "a|b", "(?s).", "[[:^alpha:]]", "(a*)+", `\b`, "(?U)a+", "x{2,5}?"} {
		f.Add(p, "a bk")
	}
	f.Fuzz(func(t *testing.T, pattern, line string) {
		if strings.ContainsAny(line, "\n\r") || len(pattern) > 200 {
			return
		}
		p, err := compileGrep(pattern, false, false, false)
		re, err2 := regexp.Compile("(?m:" + pattern + ")")
		if err != nil || err2 != nil || p.multiline {
			return
		}
		if want, got := re.MatchString(line), p.matchLine([]byte(line)); want != got {
			t.Fatalf("%q on %q: %v, rewritten to %q: %v", pattern, line, want, p.line, got)
		}
	})
}

func TestGrepFilesThatVanish(t *testing.T) {
	tier.Normal(t)
	w := openWith(t, Config{Ripgrep: noRipgrep}, nil)
	for i := range 200 {
		files{fmt.Sprintf("f%03d", i): "needle\n"}.write(t, w.Dir())
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			_ = os.Remove(filepath.Join(w.Dir(), fmt.Sprintf("f%03d", i)))
		}
	}()
	for range 20 {
		if _, err := try(t, w, "grep", args{"pattern": "needle"}); err != nil {
			t.Fatal(err)
		}
		if _, err := try(t, w, "glob", args{"pattern": "*"}); err != nil {
			t.Fatal(err)
		}
		if _, err := try(t, w, "list", args{}); err != nil {
			t.Fatal(err)
		}
	}
	<-done
}

// TestRipgrepFallsBack: if the configured program is not ripgrep, the built-in search is used.
func TestRipgrepFallsBack(t *testing.T) {
	dir := t.TempDir()
	files{"a.txt": "needle\n"}.write(t, dir)
	for name, script := range map[string]string{"fails": "exit 2", "silent": "exit 0", "chatty": "echo not json", "cut": `echo '{"type":"begin"'`} {
		prog := filepath.Join(t.TempDir(), "rg")
		must(t, os.WriteFile(prog, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		w := openAt(t, dir, Config{Ripgrep: prog})
		if got, err := try(t, w, "grep", args{"pattern": "needle"}); err != nil || !strings.Contains(got, "a.txt") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestIgnoreFilesOfRipgrepAlone: ignore files that only ripgrep knows have no effect.
func TestIgnoreFilesOfRipgrepAlone(t *testing.T) {
	above := t.TempDir()
	files{".gitignore": "*.txt\n", "work/a.txt": "needle\n", "work/.ignore": "a.txt\n", "other/a.txt": "needle\n", "other/.rgignore": "a.txt\n"}.write(t, above)
	for _, d := range []string{"work", "other"} {
		rg, own := both(t, filepath.Join(above, d))
		if !sameGrep(t, rg, own, args{"pattern": "needle"}) {
			t.Errorf("%s: nothing found", d)
		}
	}
}

func TestGrepStopsWithTheContext(t *testing.T) {
	dir := t.TempDir()
	files{"a.txt": "needle\n"}.write(t, dir)
	prog := filepath.Join(t.TempDir(), "rg")
	must(t, os.WriteFile(prog, []byte("#!/bin/sh\nsleep 60\n"), 0o755))
	w := openAt(t, dir, Config{Ripgrep: prog})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tryCtx(t, ctx, w, "grep", args{"pattern": "needle"}); err == nil {
		t.Error("no error from an ended context")
	}
}

// FuzzGrepPrefix checks that a text is found wherever it is, whatever is around it.
func FuzzGrepPrefix(f *testing.F) {
	f.Add("package p4", "package p3\npackage p4\n")
	f.Add("aab", strings.Repeat("a", 500)+"b")
	f.Add("", "x")
	f.Add("é{", "e\xcc{é{")
	f.Fuzz(func(t *testing.T, text, buf string) {
		re, err := regexp.Compile(regexp.QuoteMeta(text))
		if err != nil {
			t.Skip()
		}
		p := prefixOf(re)
		if got, want := p.in([]byte(buf)), bytes.Contains([]byte(buf), p.text); got != want {
			t.Errorf("%q in %q: %v", p.text, buf, got)
		}
	})
}
