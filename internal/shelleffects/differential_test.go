//go:build unix

package shelleffects

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
)

// The tests here run commands that Analyze calls read-only, and check what really happened.

var (
	runs = flag.Int("runs", 120, "commands that each differential test runs")
	seed = flag.Int("seed", 1, "of their random choices")
)

// sandboxDir creates a workspace of unusual files, with a git repository if git is installed, and
// an empty home directory.
func sandboxDir(t *testing.T) (ws, home string) {
	t.Helper()
	ws, home = filepath.Join(t.TempDir(), "ws"), t.TempDir()
	for name, text := range map[string]string{
		"a.txt": "one\ntwo\nthree\n", "b.txt": "two\nfour\n", "data.json": `{"a":[1,2]}`, "main.go": "package main\n\nfunc main() {}\n", "bin": "\x00\x01\xfftext here\n",
		"sub/c.txt": "deep\n", "sub/deep/d.go": "package deep\n", "out": "keep\n", "-oout": "x\n", "-delete": "x\n", "--output=pwned": "x\n", "-i.txt": "x\n", "sp ace.txt": "x\n",
	} {
		file := filepath.Join(ws, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := exec.LookPath("git"); err == nil {
		for _, args := range []string{"init -q -b main", "add .", "-c user.name=x -c user.email=x@x commit -qm one", "tag v1", "branch other"} {
			cmd := exec.Command("git", strings.Fields(args)...)
			cmd.Dir, cmd.Env = ws, environ(home)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %s: %v\n%s", args, err, out)
			}
		}
	}
	return ws, home
}

// environ returns a small environment. The files that Go's tools keep for themselves (usage
// counters, cache) are not compared.
func environ(home string, more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home + "-config", "TMPDIR=" + home, "GOCACHE=" + home + "-config", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", "GOPROXY=off", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1"}, more...)
}

// fingerprint hashes names, modes and contents below the directories. It skips git's index, because
// git status refreshes the times cached there.
func fingerprint(t *testing.T, dirs ...string) string {
	t.Helper()
	h := sha256.New()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || strings.HasSuffix(p, "/.git/index") {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			fmt.Fprintf(h, "%s %v ", p, info.Mode())
			if d.Type().IsRegular() {
				data, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				h.Write(data)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// execute runs cmd with a shell for at most a second, in a process group that is killed afterwards.
func execute(shell, cmd, dir string, env []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, shell, "-c", cmd)
	c.Dir, c.Env, c.Stdin = dir, env, strings.NewReader("a b\nc d\n")
	c.Stdout, c.Stderr = &bytes.Buffer{}, &bytes.Buffer{}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = 100 * time.Millisecond
	c.Run()
	if c.Process != nil {
		syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	}
}

// TestNothingChanges runs random commands of the table, with random options and operands of which
// many are not in it, and checks that those called read-only leave every file unchanged.
//
// Evidence: coding · Commands that are called read-only change nothing
func TestNothingChanges(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	ws, home := sandboxDir(t)
	before := fingerprint(t, ws, home)
	var names []string
	for n := range table() {
		program := strings.Fields(n)[0]
		if _, err := exec.LookPath(program); err == nil && program != "yes" && program != "sleep" && !mutates(n) {
			names = append(names, n)
		}
	}
	names = append(names, "find", "sed", "awk", "git", "sed -n", "sort", "tree", "uniq", "date", "git diff", "git branch", "git tag")
	slices.Sort(names)
	r := rand.New(rand.NewPCG(7, uint64(*seed)))
	ran := map[string]int{}
	for tries, left := 0, tier.Pick(*runs/3, *runs, *runs); left > 0 && tries < 400*(*runs); tries++ {
		name := names[r.IntN(len(names))]
		cmd := randomCommand(r, name)
		if !ReadOnly(analyze(cmd, Options{Root: ws})) {
			continue
		}
		left--
		ran[strings.Fields(name)[0]]++
		execute("bash", cmd, ws, environ(home))
		if after := fingerprint(t, ws, home); after != before {
			t.Fatalf("%q is called read-only and changed files", cmd)
		}
	}
	if len(ran) < 20 {
		t.Errorf("only %v were run", ran)
	}
}

func randomCommand(r *rand.Rand, program string) string {
	pick := func(ss ...string) string { return ss[r.IntN(len(ss))] }
	var known []string
	if row := table()[program]; row != nil {
		for o := range row.options {
			known = append(known, o)
		}
		slices.Sort(known)
	}
	value := func() string {
		return pick("1", "a", "2,3", "-", "a.txt", "out", "newfile", "'%s %n'", "x=1", "full", "HEAD", "'{print}'", "p", "name", "0", "never", "d")
	}
	words := []string{program}
	for range r.IntN(5) {
		switch k := r.IntN(12); {
		case k < 4 && len(known) > 0:
			o := pick(known...)
			words = append(words, pick(o, o+"="+value(), o+" "+value(), o+value()))
		case k == 4:
			words = append(words, "-"+string("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[r.IntN(52)])+pick("", value()))
		case k == 5:
			words = append(words, pick("--output=newfile", "-o newfile", "-delete", "-fprint newfile", "--", "-w", "-i", "-D", "-d", "-m", "-f", "--", "-r", "-R", "-C", "-l", "-n"))
		case k == 6:
			words = append(words, pick("*", "*.txt", "./*", "sub/*", "{a,b}.txt", "$(echo a.txt)", "<(cat a.txt)", "\"$(pwd)\"", "{out,newfile}"))
		default:
			words = append(words, pick("a.txt", "b.txt", "newfile", "sub", ".", "out", "main.go", "bin", "data.json", "HEAD", "main", "v1", "'s/a/b/'", "'1p;2d'", "'s/o/0/w newfile'", "'{print $1}'", "'{print > \"newfile\"}'", "'$1 > 2'", "-name x", "-print", "-type f", "list", "show", "other", "x.y", "+%s"))
		}
	}
	return strings.Join(words, " ") + pick("", "", "", " | head -1", " 2>/dev/null", " < a.txt", " && pwd", " || true")
}

// TestShellsAgree mutates command lines and runs those called read-only in bash and in sh, with a
// PATH of stubs that only record that they ran. No program may run that the analysis did not name,
// and no file may change.
func TestShellsAgree(t *testing.T) {
	tier.Normal(t)
	var shells []string
	for _, s := range []string{"bash", "dash", "sh"} {
		if p, err := exec.LookPath(s); err == nil {
			shells = append(shells, p)
		}
	}
	if len(shells) == 0 {
		t.Skip("no shell is installed")
	}
	stubs, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	names := []string{"git", "find", "sed", "awk", "jq", "env", "timeout", "nice", "printenv", "pwn", "x", "f", "a", "b", "sh", "bash", "xargs", "sudo", "curl", "python3", "perl", "make"}
	for n := range table() {
		names = append(names, strings.Fields(n)[0])
	}
	for _, n := range names {
		if strings.Contains(n, "/") {
			continue
		}
		if err := os.WriteFile(filepath.Join(stubs, n), []byte("#!/bin/sh\necho \"${0##*/}\" >>'"+log+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ws, home := sandboxDir(t)
	before := fingerprint(t, ws, home)
	seeds := append(lines(t, "testdata/readonly.txt"), lines(t, "testdata/refused.txt")...)
	r := rand.New(rand.NewPCG(11, uint64(*seed)))
	for tries, left := 0, tier.Pick(*runs/3, *runs, *runs); left > 0 && tries < 2000*(*runs); tries++ {
		cmd := mutate(r, seeds)
		a := analyze(cmd, Options{Root: ws})
		if !ReadOnly(a) || strings.Contains(cmd, "/bin/") || strings.Contains(cmd, "while") || strings.Contains(cmd, "until") || strings.Contains(cmd, "sleep") {
			continue
		}
		left--
		named := map[string]bool{}
		for _, c := range a.Commands {
			named[c.Name] = true
		}
		for _, shell := range shells {
			os.Remove(log)
			execute(shell, cmd, ws, environ(home, "PATH="+stubs))
			ran, _ := os.ReadFile(log)
			for _, p := range strings.Fields(string(ran)) {
				if !named[p] {
					t.Errorf("%s ran %s for %q, in which only %v were seen", filepath.Base(shell), p, cmd, a.Commands)
				}
			}
			if fingerprint(t, ws, home) != before {
				t.Fatalf("%s changed files for %q, which is called read-only", filepath.Base(shell), cmd)
			}
		}
	}
}

func mutate(r *rand.Rand, seeds []string) string {
	tokens := strings.Fields("&> &>/dev/null |& <<< ${x:- } \\' $'a\\'b ; & && || | |& ( ) { } $( ) ` \" ' \\ # > >> < << <<- <<< E 'E' $' $\" (( )) [[ ]] [ ] ! pwn pwn pwn rm case esac in ;; for do done if then fi else while x= $x ${x} ${x:-pwn} * ? ~ {pwn,} a,b $ = - -- -o /dev/null 2>&1 &> 1>&2 time function () <( >( @( !( 0 1 \\\n echo \n \n \t [a-z] ;& ;;& coproc select <> >| {fd}> $[ $(( -a -v -eq =~")
	cmd := seeds[r.IntN(len(seeds))]
	for range 1 + r.IntN(3) {
		tok := tokens[r.IntN(len(tokens))]
		if r.IntN(2) == 0 {
			tok = " " + tok + " "
		}
		at := r.IntN(len(cmd) + 1)
		switch r.IntN(5) {
		case 0: // replace
			end := min(len(cmd), at+1+r.IntN(3))
			cmd = cmd[:at] + tok + cmd[end:]
		case 1: // delete
			cmd = cmd[:at] + cmd[min(len(cmd), at+1+r.IntN(4)):]
		case 2: // join two commands
			other := seeds[r.IntN(len(seeds))]
			cmd = cmd[:at] + tok + other[r.IntN(len(other)+1):]
		default:
			cmd = cmd[:at] + tok + cmd[at:]
		}
	}
	return strings.ReplaceAll(cmd, `\n`, "\n")
}
