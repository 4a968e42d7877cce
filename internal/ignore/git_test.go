package ignore

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
)

// repo creates a real repository with the given files (names that end in "/" are directories) and
// returns its root.
func repo(t testing.TB, files map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root := t.TempDir()
	git(t, root, "init", "-q", "--template=") // without the dozen sample hooks
	write(t, root, files)
	return root
}

// write writes files below a directory.
func write(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(file, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func git(t testing.TB, dir string, args ...string) []byte {
	t.Helper()
	return gitIn(t, dir, nil, args...)
}

func gitIn(t testing.TB, dir string, stdin []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "LC_ALL=C")
	out, err := cmd.Output()
	if ee, ok := err.(*exec.ExitError); ok && ee.ExitCode() == 1 && args[0] == "check-ignore" {
		err = nil // git exits with status 1 if nothing is ignored
	}
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return out
}

// everything lists all paths below root except .git directories.
func everything(t testing.TB, root string) (paths []string, isDir map[string]bool) {
	t.Helper()
	isDir = map[string]bool{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" {
			return filepath.SkipDir
		}
		if rel, _ := filepath.Rel(root, p); rel != "." {
			paths = append(paths, filepath.ToSlash(rel))
			isDir[filepath.ToSlash(rel)] = d.IsDir()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	return paths, isDir
}

// compare compares Match and Walk with git on every path of the tree.
func compare(t testing.TB, root string) (ignored int, diff string) {
	t.Helper()
	paths, isDir := everything(t, root)
	out := gitIn(t, root, []byte(strings.Join(paths, "\x00")+"\x00"), "check-ignore", "--no-index", "-z", "--stdin")
	want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(out) == 0 {
		want = nil
	}
	m := New(root)
	var got []string
	for _, p := range paths {
		if m.Match(p, isDir[p]) {
			got = append(got, p)
		}
	}
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		return len(want), "Match (-git +ours):\n" + d
	}
	var seen []string
	if err := Walk(root, func(p string, d fs.DirEntry, err error) error {
		if p != "." {
			seen = append(seen, p)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(seen)
	rest := slices.DeleteFunc(paths, func(p string) bool { return slices.Contains(want, p) })
	if d := cmp.Diff(rest, seen, cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })); d != "" {
		return len(want), "Walk (-git +ours):\n" + d
	}
	return len(want), ""
}

// tree is the tree used in every hand-picked case.
var tree = []string{
	"a", "b", "c.o", "foo", "foobar", "foo bar", "foo ", "#x", "!x", "-", "[", "]", `back\slash`, "é", "A", "z9", "f*o",
	"dir/a", "dir/b", "dir/sub/a", "dir/sub/c.o", "dir/sub/deep/a", "dir2/a", "foo.d/x", "foo.d/y/x", "x/foo/y", "x/y/foo",
	"build/keep", "build/out.o", "build/sub/keep", "src/build/x", "src/a.go", "src/a_test.go", "src/v1/a.go", "empty/", "src/empty/",
	"a.d/b.d/c.d/file", "logs/1.log", "logs/important.log", "tab\t", "new\nline", "bytes\xff\xfe",
}

// Evidence: coding · .gitignore files are read as git reads them
func TestAgainstGit(t *testing.T) {
	cases := map[string]map[string]string{
		"basename":             {".gitignore": "a\n"},
		"anchored":             {".gitignore": "/a\n/dir/a\n"},
		"suffix":               {".gitignore": "*.o\n"},
		"directory only":       {".gitignore": "foo/\nbuild/\na/\n"},
		"anchored directory":   {".gitignore": "/build/\ndir/sub/\n"},
		"directory by prefix":  {".gitignore": "a.d/b/\nsrc/v/\n"},
		"negation":             {".gitignore": "*.log\n!important.log\n"},
		"negation hidden":      {".gitignore": "build/\n!build/keep\n"},
		"negation by star":     {".gitignore": "build/*\n!build/keep\n"},
		"negate then ignore":   {".gitignore": "!a\na\n"},
		"whitelist":            {".gitignore": "*\n!*/\n!*.go\n"},
		"whitelist one":        {".gitignore": "/*\n!/src\n"},
		"leading stars":        {".gitignore": "**/foo\n"},
		"trailing stars":       {".gitignore": "dir/**\n"},
		"trailing stars neg":   {".gitignore": "dir/**\n!dir/sub\n!dir/sub/a\n"},
		"middle stars":         {".gitignore": "dir/**/a\n"},
		"stars joined":         {".gitignore": "foo**\ndir/su**\n"},
		"stars joined mid":     {".gitignore": "di**/a\n"},
		"stars in name":        {".gitignore": "d**r/a\n"},
		"only stars":           {".gitignore": "**\n"},
		"stars slash":          {".gitignore": "**/\n"},
		"three stars":          {".gitignore": "***/a\ndir/***\n"},
		"question":             {".gitignore": "?\n"},
		"question is a byte":   {".gitignore": "?\n??\n"},
		"class":                {".gitignore": "[ab]\n[!a-y]9\n"},
		"class bracket":        {".gitignore": "[]]\n[[]\n"},
		"class dash":           {".gitignore": "[-]\n[a-]\n"},
		"class posix":          {".gitignore": "[[:upper:]]\n[[:alpha:]][[:digit:]]\n"},
		"class posix bad":      {".gitignore": "[[:nope:]]\n[[:alpha]\n[[:]\n"},
		"class slash":          {".gitignore": "dir[/]a\ndir[!x]a\n"},
		"class open":           {".gitignore": "[ab\n[\n"},
		"class range escape":   {".gitignore": `[\a-\b]` + "\n"},
		"class reversed":       {".gitignore": "[z-a]\n"},
		"escaped star":         {".gitignore": `f\*o` + "\n"},
		"escaped plain":        {".gitignore": `\a` + "\n" + `d\ir/a` + "\n"},
		"escaped hash":         {".gitignore": `\#x` + "\n" + `\!x` + "\n"},
		"comment":              {".gitignore": "#x\n # a\n"},
		"bang alone":           {".gitignore": "*\n!\n"},
		"backslash end":        {".gitignore": "a\\\nfoo\\\\\n"},
		"backslash name":       {".gitignore": `back\\slash` + "\n"},
		"trailing blank":       {".gitignore": "foo \nb  \n"},
		"trailing blank kept":  {".gitignore": `foo\ ` + "\n"},
		"trailing blanks kept": {".gitignore": `foo\  ` + "\n"},
		"inner blank":          {".gitignore": "foo bar\n"},
		"trailing tab":         {".gitignore": "tab\t\na\t\n"},
		"crlf":                 {".gitignore": "a\r\n*.o\r\n"},
		"bom":                  {".gitignore": "\xef\xbb\xbfa\n"},
		"no final newline":     {".gitignore": "b\na"},
		"nul":                  {".gitignore": "a\x00b\n"},
		"slash alone":          {".gitignore": "/\n//\nfoo//\n"},
		"double slash":         {".gitignore": "dir//a\n//a\n"},
		"dot":                  {".gitignore": ".\n./a\n"},
		"dotdot":               {".gitignore": "../a\n"},
		"non-ascii":            {".gitignore": "é\nbytes\xff*\n"},
		"class non-ascii":      {".gitignore": "[é]\n[\xc3][\xa9]\n"},
		"nested file":          {".gitignore": "*.o\n", "dir/.gitignore": "!c.o\na\n"},
		"nested anchored":      {"dir/.gitignore": "/a\nsub/deep\n"},
		"nested weaker":        {".gitignore": "!a\n", "dir/.gitignore": "a\n"},
		"nested in hidden":     {".gitignore": "build/\n", "build/.gitignore": "!*\n"},
		"ignores itself":       {".gitignore": ".gitignore\n*\n"},
		"exclude file":         {".git/info/exclude": "a\n/dir2\n", ".gitignore": "!dir2\n"},
		"escaped slash":        {".gitignore": `dir\/a` + "\n" + `x/**\/foo` + "\n"},
		"directory by suffix":  {".gitignore": "*.d/\n"},
		"dir only glob":        {".gitignore": "dir*/\nsrc/*/\n"},
	}
	all := map[string]string{}
	for _, f := range tree {
		all[f] = ""
	}
	root := repo(t, all)
	for name, files := range cases {
		t.Run(name, func(t *testing.T) {
			write(t, root, files)
			defer func() {
				for f := range files {
					os.Remove(filepath.Join(root, f))
				}
			}()
			if _, d := compare(t, root); d != "" {
				t.Errorf("%q\n%s", files, d)
			}
		})
	}
}

func TestRandomAgainstGit(t *testing.T) {
	tier.Normal(t)
	seed := uint64(1)
	rounds := tier.Pick(10, 40, 120)
	total := 0
	for round := range rounds {
		r := rand.New(rand.NewPCG(seed, uint64(round)))
		files := map[string]string{".gitignore": randomRules(r)}
		for range 60 {
			files[randomPath(r)+"/f"+string("ab"[r.IntN(2)])] = ""
		}
		for range r.IntN(4) {
			files[randomPath(r)+"/.gitignore"] = randomRules(r)
		}
		if r.IntN(3) == 0 {
			files[".git/info/exclude"] = randomRules(r)
		}
		root := repo(t, files)
		n, d := compare(t, root)
		total += n
		if d != "" {
			t.Errorf("round %d\n%s\n%s", round, showRules(files), d)
			return
		}
	}
	if total == 0 {
		t.Error("the random rules never ignored anything, so nothing was compared")
	}
}

func showRules(files map[string]string) string {
	var b strings.Builder
	for f, text := range files {
		if text != "" {
			fmt.Fprintf(&b, "%s: %q\n", f, text)
		}
	}
	return b.String()
}

func randomPath(r *rand.Rand) string {
	elems := make([]string, 1+r.IntN(4))
	for i := range elems {
		elems[i] = []string{"a", "b", "ab", "aa", "ba", "c.d", "a-b"}[r.IntN(7)]
	}
	return strings.Join(elems, "/")
}

func randomRules(r *rand.Rand) string {
	atoms := []string{"a", "b", "c", "f", "*", "**", "?", "/", "/", "**/", "/**", "[ab]", "[!a]", "[a-c]", "[^/]", ".", "-", `\a`, `\*`, "[[:lower:]]", "***", "[a", " "}
	var b strings.Builder
	for range 1 + r.IntN(6) {
		if r.IntN(3) == 0 {
			b.WriteByte('!')
		}
		for range 1 + r.IntN(6) {
			b.WriteString(atoms[r.IntN(len(atoms))])
		}
		b.WriteByte('\n')
	}
	return b.String()
}
