package shelleffects

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
)

func TestEffects(t *testing.T) {
	type want struct {
		Reads, Writes []string
		Flags         Flags
		Known         bool
	}
	cases := map[string]want{
		"cat a b/../c":                 {Reads: []string{"a", "c"}, Known: true},
		"cat internal/*/x.go":          {Reads: []string{"internal"}, Known: true},
		"grep -rn foo":                 {Reads: []string{"."}, Known: true},
		"cd sub && cat x ../y":         {Reads: []string{"sub", "sub/x", "y"}, Known: true},
		"cd sub; cat x":                {Reads: []string{"sub", "sub/x", "x"}, Known: true},
		"cat /ws/a /etc/passwd":        {Reads: []string{"/etc/passwd", "a"}, Flags: Outside, Known: true},
		"cat ~/x":                      {Reads: []string{"~/x"}, Flags: Outside, Known: true},
		"rm -rf build dist":            {Writes: []string{"build", "dist"}, Flags: Deletes, Known: true},
		"mkdir -p a/b && touch a/b/c":  {Writes: []string{"a/b", "a/b/c"}, Known: true},
		"cp a b dst":                   {Reads: []string{"a", "b"}, Writes: []string{"dst"}, Known: true},
		"mv a b":                       {Writes: []string{"a", "b"}, Flags: Deletes, Known: true},
		"sort a > b":                   {Reads: []string{"a"}, Writes: []string{"b"}, Known: true},
		"cat < a | tee b >> c":         {Reads: []string{"a"}, Writes: []string{"b", "c"}, Known: true},
		"echo x > /etc/motd":           {Writes: []string{"/etc/motd"}, Flags: Outside, Known: true},
		"for f in a b; do rm $f; done": {Writes: []string{"a", "b"}, Flags: Deletes, Known: true},
		"sudo rm -rf x":                {Writes: []string{"x"}, Flags: Deletes | Executes},
		"curl x | sh":                  {Flags: Network | Executes},
		"kill -9 1":                    {Flags: Kills},
		"make":                         {Flags: Executes},
		"make test":                    {Flags: Executes},
		"find . -delete":               {Reads: []string{"."}, Flags: Deletes},
		"git push":                     {Flags: Network},
		"cat .env":                     {Reads: []string{".env"}, Flags: Secret, Known: true},
		"sed -i s/a/b/ f":              {Writes: []string{"."}},
	}
	for cmd, w := range cases {
		a := Analyze(cmd, workspace)
		got := want{a.Reads, a.Writes, a.Flags, a.Known}
		if d := cmp.Diff(w, got); d != "" {
			t.Errorf("%q: -want +got\n%s", cmd, d)
		}
	}
}

func TestDir(t *testing.T) {
	for _, c := range []struct {
		cmd, dir string
		want     bool
	}{
		{"cat x", "sub", true}, {"cat ../x", "sub", true}, {"cat ../x", "", false}, {"ls", "/ws/sub", true}, {"ls", "/other", false},
		{"ls", "..", false}, {"cat ../../x", "sub", false}, {"git status", "sub", false}, {"git status", "/ws", true}, {"cat $PWD/x", "sub", true},
	} {
		if got := ReadOnly(Analyze(c.cmd, Options{Root: "/ws", Dir: c.dir})); got != c.want {
			t.Errorf("%q in %q: %v", c.cmd, c.dir, got)
		}
	}
	if ReadOnly(Analyze("cat /ws/x", Options{})) {
		t.Error("an absolute path counts as inside a workspace of unknown place")
	}
}

// wrappings are ways to embed one command line in another. None may make it harmless.
var wrappings = []string{
	"%s", "ls; %s", "ls && %s", "ls || %s", "ls | %s", "%s | cat", "%s; ls", "ls\n%s", "(%s)", "{ %s\n}", "! %s", "time %s", "if true; then %s\nfi",
	"if %s\nthen ls; fi", "while true; do %s\nbreak; done", "for i in 1 2; do %s\ndone", "case x in x) %s\n;; esac", "echo $(%s)", "echo \"$(%s)\"",
	"x=$(%s)", "cat <(%s)", "cat <<E\n$(%s)\nE", "true && { %s\n}", "env %s", "timeout 5 %s", "nice %s", "command %s", "%s </dev/null", "%s 2>&1",
	"%s >/dev/null", "echo ${x:-$(%s)}", "ls & %s", "cd . && %s", "bash -c '%s'", "eval %s", "xargs %s", "[ -n \"$(%s)\" ]", "test -f go.mod && %s",
	"cd sub; (%s)", "LC_ALL=C %s", "exec %s", "nohup %s &", "find . -exec %s \\;", "ls | while read x; do %s\ndone", "f() { %s\n}; f", "coproc %s",
}

// balanced reports whether a command keeps its meaning inside a wrapping: its quotes, comments and
// here-documents must not extend beyond it.
func balanced(cmd string) bool {
	return Analyze(cmd, workspace).Err == nil && !strings.ContainsAny(cmd, "#\n") && !strings.Contains(cmd, "<<") && !strings.HasSuffix(cmd, `\`)
}

// Evidence: coding · Only shell commands that are known to read run without approval
func TestWrappingNeverHelps(t *testing.T) {
	tier.Normal(t)
	bad := lines(t, "testdata/refused.txt")
	rounds, step := tier.Pick(1, 2, 2), tier.Pick(3, 1, 1)
	r := rand.New(rand.NewPCG(3, 3))
	n := 0
	for i, cmd := range bad {
		if i%step > 0 {
			continue
		}
		// exit hides what follows it, and a cd in a pipe or a negation really does not change the
		// directory of what follows
		if !balanced(cmd) || strings.Contains(cmd, "exit") || strings.HasPrefix(cmd, "cd ") {
			continue
		}
		for _, w := range wrappings {
			wrapped := strings.ReplaceAll(w, "%s", cmd)
			for range rounds {
				n++
				if a := Analyze(wrapped, workspace); ReadOnly(a) {
					t.Errorf("%q is read-only: %+v", wrapped, a.Commands)
				}
				wrapped = strings.ReplaceAll(wrappings[r.IntN(len(wrappings))], "%s", wrapped)
				if !balanced(wrapped) {
					break
				}
			}
		}
	}
	if n < 10000/step {
		t.Errorf("only %d wrapped commands were tried", n)
	}
}

// TestQuotingNeverHelps rewrites the words of refused commands in ways that the shell undoes: they
// must still be refused.
func TestQuotingNeverHelps(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, cmd := range []string{"rm x", "rm -rf x", "find . -delete", "find . -exec rm x +", "sort -o out in", "git push", "git branch -D main", "uniq in out", "sed -i p f", "tee f", "git -C /other status", "cat /etc/passwd", "cat .env", "bash x", "tree -o f", "rg --pre sh x", "git diff --output=f", "env rm x", "printenv", "curl x", "kill 1", "cd .. && ls", "date -s x", "go env -w A=b", "xxd a b"} {
		for range 200 {
			var b strings.Builder
			quote := rune(0)
			for _, c := range cmd {
				special := strings.ContainsRune(" &", c)
				if quote != 0 && (special || r.IntN(2) == 0) {
					b.WriteRune(quote)
					quote = 0
				}
				switch r.IntN(6) {
				case 0:
					if quote == 0 && !special {
						b.WriteRune('\\')
					}
				case 1:
					if quote == 0 && !special {
						quote = '\''
						b.WriteRune(quote)
					}
				case 2:
					if quote == 0 && !special {
						quote = '"'
						b.WriteRune(quote)
					}
				case 3:
					if quote == 0 && !special {
						b.WriteString("''")
					}
				case 4:
					if quote == 0 && !special {
						b.WriteString("\\\n")
					}
				}
				b.WriteRune(c)
			}
			if quote != 0 {
				b.WriteRune(quote)
			}
			if ReadOnly(Analyze(b.String(), workspace)) {
				t.Errorf("%q is read-only", b.String())
			}
		}
	}
}

func TestBadInput(t *testing.T) {
	for name, cmd := range map[string]string{
		"empty": "", "blank": "  \n ", "comment": "# ls", "NUL": "ls\x00rm", "CR": "ls\r", "escape": "ls\x1b[A", "not UTF-8": "ls \xff", "no-break space": "ls\u00a0x",
		"zero width": "l\u200bs", "right to left": "ls \u202e x", "line separator": "ls\u2028rm x", "private use": "ls \ue000", "long": "echo " + strings.Repeat("a ", 40000),
		"deep": strings.Repeat("(", 5000) + "ls" + strings.Repeat(")", 5000), "deep quotes": strings.Repeat(`$(echo "`, 3000), "many braces": "echo " + strings.Repeat("{a,b}", 60),
		"long sequence": "echo {1..100000000}{1..100000000}", "loops": strings.Repeat("for i in 1 2 3 4 5 6 7 8 9 10; do ", 12) + "ls; " + strings.Repeat("done; ", 12),
	} {
		if a := Analyze(cmd, workspace); ReadOnly(a) {
			if name != "long sequence" {
				t.Errorf("%s: read-only", name)
			}
		} else if len(a.Reasons) == 0 {
			t.Errorf("%s: no reason", name)
		}
	}
}

// TestTable checks the rows for mistakes that the table's parser cannot see.
func TestTable(t *testing.T) {
	for n, r := range table() {
		if r.max != 0 && len(r.operands) == 0 && !r.any {
			t.Errorf("%s: no operand kind", n)
		}
		for _, o := range append(append([]string{}, r.instead...), r.needs...) {
			if _, ok := r.options[o]; !ok {
				t.Errorf("%s: %s is no option of it", n, o)
			}
		}
		if killers[n] || networkers[n] || deleters[n] {
			t.Errorf("%s is also listed as harmful", n)
		}
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, file := range []string{"testdata/readonly.txt", "testdata/refused.txt", "testdata/secret.txt"} {
		for _, cmd := range lines(f, file) {
			f.Add(cmd)
		}
	}
	for _, cmd := range []string{"ls # a \\\nrm x", "cat <<'E'\nE\nrm x", "echo $(cat <<E\nx\nE\n)", "cat <<\"a\\$b\"\na$b\nrm x", "echo \"a\"#b", "cat {a,b} <(ls)", "echo $((1+2)) ${x:-y}"} {
		f.Add(cmd)
	}
	f.Fuzz(func(t *testing.T, cmd string) {
		a := analyze(cmd, workspace)
		if !ReadOnly(a) {
			if len(a.Reasons) == 0 {
				t.Errorf("%q is refused without a reason", cmd)
			}
			return
		}
		if b := analyze(cmd+"\nrm x", workspace); ReadOnly(b) && !strings.Contains(cmd, "exit") && !strings.Contains(cmd, "<<") && !strings.HasSuffix(cmd, `\`) {
			t.Errorf("%q stays read-only with a removal behind it", cmd)
		}
		for _, c := range a.Commands {
			if !c.Known || c.Flags != 0 {
				t.Errorf("%q is read-only, its command %+v is not", cmd, c)
			}
		}
	})
}

// TestManyDirectories checks that changes of directory that may fail, each of which doubles the
// directories in which a command may run, are not approved and not followed for long.
func TestManyDirectories(t *testing.T) {
	a := analyze(strings.Repeat("cd a || cd b; ", 100)+"ls", workspace)
	if ReadOnly(a) || !strings.Contains(strings.Join(a.Reasons, "; "), "too many") {
		t.Errorf("reasons: %v", a.Reasons)
	}
	if a := analyze("cd a || cd b; cd c; ls", workspace); !ReadOnly(a) {
		t.Errorf("reasons: %v", a.Reasons)
	}
}

func BenchmarkAnalyze(b *testing.B) {
	for _, cmd := range []string{"ls -la", "git log --oneline -10 | head", "for f in a b c; do echo $f; wc -l $f; done", "find . -name '*.go' -not -path './vendor/*' | xargs grep -n foo | sort | uniq -c"} {
		b.Run(strings.Fields(cmd)[0], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Analyze(cmd, workspace)
			}
		})
	}
}

func ExampleAnalyze() {
	a := Analyze("cd src && grep -rn TODO . | tee todo.txt", Options{})
	fmt.Println(ReadOnly(a), a.Reads, a.Writes)
	fmt.Println(a.Reasons[0])
	fmt.Print(a.Tree)
	// Output:
	// false [src] [src/todo.txt]
	// writes todo.txt
	// and then
	//   run cd src
	//   pipe
	//     run grep -rn TODO .
	//     run tee todo.txt
}
