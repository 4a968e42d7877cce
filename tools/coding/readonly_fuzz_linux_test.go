package coding

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/shelleffects"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
)

var (
	fuzzCommands = flag.Int("commands", 0, "command lines that TestApprovedCommandsChangeNothing writes; 0 means by tier")
	fuzzSeed     = flag.Uint64("commandseed", 1, "of their random choices")
)

// waits matches commands that may run for long, which are left out.
var waits = regexp.MustCompile(`\b(tail|sleep|yes|while|until|seq|watch|vmstat|timeout|wait|find /|top)\b|/dev/(zero|random|urandom|tty)`)

// TestApprovedCommandsChangeNothing writes command lines at random, runs those that the analysis
// calls read-only in bash and in dash inside a sandbox, and looks at what the kernel saw: no file
// of the workspace is created, changed or removed, no planted program runs, and no connection is
// tried.
//
// Evidence: coding · No fuzzed command that runs without approval changes a file, in bash or dash
func TestApprovedCommandsChangeNothing(t *testing.T) {
	total := *fuzzCommands
	if total == 0 {
		total = tier.Pick(1500, 8000, 1_000_000)
	}
	f := newFuzz(t)
	s := newSpeller(t, *fuzzSeed)
	seen := map[string]bool{}
	var batch []string
	written, ran, begun := 0, 0, time.Now()
	for ; written < total && !t.Failed(); written++ {
		cmd := s.line()
		if len(cmd) > 2000 || strings.IndexByte(cmd, 0) >= 0 || seen[cmd] || waits.MatchString(cmd) {
			continue
		}
		if !shelleffects.ReadOnly(shelleffects.Analyze(cmd, shelleffects.Options{Root: f.sb.Dir()})) {
			continue
		}
		seen[cmd] = true
		ran++
		if batch = append(batch, cmd); len(batch) == 200 {
			f.quick = ran%1000 != 0
			f.run(t, batch)
			batch = batch[:0]
		}
		if ran%20000 == 0 {
			t.Logf("%d written, %d run, after %v", written, ran, time.Since(begun).Round(time.Second))
		}
	}
	f.quick = false
	f.run(t, batch)
	t.Logf("%d command lines written, %d different ones approved and run in %v, in %v", written, ran, f.shells, time.Since(begun).Round(time.Second))
	if ran < total/50 {
		t.Errorf("only %d of %d command lines were approved", ran, total)
	}
}

// A fuzz runs command lines in a sandbox over a private copy of a workspace.
type fuzz struct {
	snapshot string
	sb       sandbox.Sandbox
	shells   []string
	quick    bool // the usual readers do nothing, so that most of the time goes to what shells read
}

// readers are functions of a quick run. They change nothing about how a shell reads a command.
var readers = strings.Join(strings.Fields("ls cat head grep wc sort uniq sed awk find cut tr nl od stat du basename rg jq strings md5sum date which git go diff uname ps file tree xxd"), "() { :; }\n") + "() { :; }\n"

// decoys are programs that a misread command may run: words of the commands, and programs that
// reach the network.
var decoys = strings.Fields("E EF F E-F a b x f text pwn args x, $ls {ls,} curl wget nc ssh sh bash dash sudo gpg less man")

func newFuzz(t *testing.T) *fuzz {
	t.Helper()
	f := &fuzz{snapshot: t.TempDir()}
	for name, text := range map[string]string{
		"a.txt": "one\ntwo\n", "b.txt": "two\n", "f": "x y\n", "f1": "1\n", "d.json": `{"a":1}`, "sub/c": "c\n", "args": "f\n", "sums": "", "-o": "x\n", "-v": "x\n",
		"a[$(touch pwned)]": "x\n", "x -o -v a[$(touch${IFS}pwned)]": "x\n", "go.mod": "module x\n",
	} {
		f.plant(t, name, text, 0o644)
	}
	for _, name := range decoys {
		f.plant(t, "bin/"+name, "#!/bin/sh\n: > \"$PLANTED\"\n", 0o755)
	}
	for _, name := range []string{"run", "x+=./run", "$./run", "x=./run"} {
		f.plant(t, name, "#!/bin/sh\n: > \"$PLANTED\"\n", 0o755)
	}
	for _, name := range []string{"git", "go", "gofmt", "node", "java"} { // their table rows are tested elsewhere
		f.plant(t, "bin/"+name, "#!/bin/sh\n", 0o755)
	}
	for _, name := range []string{"bash", "dash"} {
		if _, err := os.Stat("/bin/" + name); err == nil {
			f.shells = append(f.shells, "/bin/"+name)
		}
	}
	if len(f.shells) == 0 {
		t.Skip("neither bash nor dash is installed")
	}
	f.open(t)
	return f
}

func (f *fuzz) plant(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	file := filepath.Join(f.snapshot, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
		err = os.WriteFile(file, []byte(text), mode)
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (f *fuzz) open(t *testing.T) {
	t.Helper()
	sb, err := sandbox.Local(t.Context(), sandbox.Config{Snapshot: sandbox.SnapshotDir(f.snapshot), Floor: sandbox.TierLandlock, NoToolchains: true})
	if err != nil {
		t.Skipf("no sandbox: %v", err)
	}
	t.Cleanup(func() { _ = sb.Close() })
	f.sb = sb
}

// run runs a batch of command lines in each shell and, if the batch had an effect, each alone.
func (f *fuzz) run(t *testing.T, cmds []string) {
	t.Helper()
	for _, shell := range f.shells {
		if len(cmds) == 0 || f.effect(t, shell, cmds, 2*time.Minute) == "" {
			continue
		}
		found := false
		for _, cmd := range cmds {
			_ = f.sb.Close()
			f.open(t)
			if effect := f.effect(t, shell, []string{cmd}, 5*time.Second); effect != "" {
				found = true
				t.Errorf("%s: %q is called read-only: %s", filepath.Base(shell), cmd, effect)
			}
		}
		if !found {
			t.Errorf("%s: a batch of commands had an effect, none of them alone: %q", filepath.Base(shell), cmds)
		}
	}
}

// effect runs command lines in a shell and returns what they changed.
func (f *fuzz) effect(t *testing.T, shell string, cmds []string, limit time.Duration) string {
	t.Helper()
	var b strings.Builder
	if f.quick {
		b.WriteString(readers)
	}
	for _, cmd := range cmds {
		fmt.Fprintf(&b, "(eval '%s') </dev/null >/dev/null 2>&1\n", strings.ReplaceAll(cmd, "'", `'\''`))
	}
	dir := f.sb.Dir()
	exit, err := f.sb.Exec(t.Context(), sandbox.Cmd{
		Args: []string{shell, "-c", b.String()}, Timeout: limit,
		Env: []string{"PATH=" + dir + "/bin:/usr/local/bin:/usr/bin:/bin", "PLANTED=" + dir + "/planted-program-ran", "x=y"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if exit.TimedOut {
		t.Logf("%s: a command did not end: %d command lines", filepath.Base(shell), len(cmds))
	}
	changes, err := f.sb.(sandbox.Differ).Changes(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		return fmt.Sprintf("%s %s", c.Kind, c.Path)
	}
	for _, d := range exit.Denials {
		if d.Host != "" {
			return fmt.Sprintf("reached for the network: %+v", d)
		}
	}
	return ""
}
