package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
)

// toolhost is the main of the far side in these tests.
func toolhost(dir string) int {
	err := ServePipe(context.Background(), Stdio(), PipeConfig{Dir: dir, Sandbox: plain(), Tools: openFileTools})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// far returns a command that runs a toolhost over a directory, after a script.
func far(dir, before string) []string {
	return []string{"sh", "-c", before + `; TEST_TOOLHOST="$1" exec "$0"`, os.Args[0], dir}
}

func dial(t *testing.T, argv ...string) *Sandbox {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sb, err := DialCommand(ctx, argv...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sb.Close() })
	return sb
}

// TestPipe checks that a command on the far side gives the sandbox and the tools of a directory
// there, whatever it prints before.
//
// Evidence: remote · docker exec, ssh and the like give a workspace and its tools over a pipe
func TestPipe(t *testing.T) {
	for name, before := range map[string]string{
		"plain":               "true",
		"message of the day":  `printf 'Welcome\nLast login: today\n'`,
		"without a newline":   `printf 'luthier toolhost $ '`,
		"standard error":      `echo warning >&2`,
		"a long banner":       `seq 1 20000`,
		"half of the line":    `printf '\0luthier \0luthier tool'`,
		"its name, then more": `printf 'luthier toolhost 1\n'`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := workspace(t)
			sb := dial(t, far(dir, before)...)
			if got := mustCall[string](t, sb.Tools(), request("append", fileArgs{Path: "a.txt", Text: "more\n"}), ToolHandlers{}); got != "text a\nmore\n" {
				t.Errorf("%q", got)
			}
			if b, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(b) != "text a\nmore\n" {
				t.Errorf("the directory: %q, %v", b, err)
			}
			if e := sh(t, sb, "cat a.txt; echo by >> a.txt; exit 4"); e.Code != 4 || e.Stdout.String() != "text a\nmore\n" {
				t.Errorf("%v %q", e, e.Stdout)
			}
			if sb.Dir() != dir {
				t.Errorf("dir %s, want %s", sb.Dir(), dir)
			}
			if err := sb.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPipeIsOneWorkspace checks that the far side opens no other directory, and does not fork one
// in place.
func TestPipeIsOneWorkspace(t *testing.T) {
	sb := dial(t, far(workspace(t), "true")...)
	if _, err := sb.Fork(t.Context()); !errors.Is(err, sandbox.ErrInPlace) {
		t.Errorf("fork: %v", err)
	}
	if _, err := sb.Changes(t.Context()); !errors.Is(err, sandbox.ErrInPlace) {
		t.Errorf("changes: %v", err)
	}
	if _, err := sb.Export(t.Context(), sandbox.ExportOptions{Dir: t.TempDir()}); !errors.Is(err, sandbox.ErrInPlace) {
		t.Errorf("export: %v", err)
	}
	if _, err := sb.DryRun(t.Context(), sandbox.Cmd{Args: []string{"true"}}); !errors.Is(err, sandbox.ErrInPlace) {
		t.Errorf("dry run: %v", err)
	}
	if err := sb.Restore(t.Context(), sandbox.AtSnapshot); !errors.Is(err, sandbox.ErrInPlace) {
		t.Errorf("restore: %v", err)
	}
	if err := sb.c.call(t.Context(), "PUT", "/v1/sandboxes/"+newID(), openRequest{}, nil); !errors.Is(err, ErrQuota) {
		t.Errorf("another: %v", err)
	}
	if got := mustCall[string](t, sb.Tools(), request("read", fileArgs{Path: "a.txt"}), ToolHandlers{}); got != "text a\n" {
		t.Errorf("%q", got)
	}
}

// TestPipeErrors checks that a command that does not answer gives an error that shows what it
// printed.
func TestPipeErrors(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   []string
	}{
		"ends":             {`echo out; echo 'no such container' >&2; exit 3`, []string{"exit status 3", "no such container", "it printed: out"}},
		"prints nothing":   {`exit 0`, []string{"does not answer", "exit status 0"}},
		"is killed":        {`echo before; kill -9 $$`, []string{"killed", "before"}},
		"prints for ever":  {`yes spam`, []string{"more than", "spam"}},
		"has a terminal":   {`printf '\n\000luthier toolhost 1\r\n'; cat`, []string{"terminal"}},
		"another version":  {`printf '\n\000luthier toolhost 99\n'; cat`, []string{`version "99"`}},
		"a malformed line": {`printf '\000luthier toolhost 111111111111111111111111111111'; cat`, []string{"malformed"}},
		"no protocol":      {`printf '\n\000luthier toolhost 1\n'; echo 'not found: x' >&2; exit 9`, []string{"exit status 9", "not found: x"}},
		"never answers":    {`echo connecting; exec sleep 1000`, []string{"did not answer", "deadline", "connecting"}},
		"a silent shell":   {`exec cat`, []string{"did not answer"}},
		"answers nonsense": {`printf '\n\000luthier toolhost 1\n'; yes nonsense`, []string{"nonsense"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := 20 * time.Second
			if strings.Contains(c.script, "sleep") || strings.Contains(c.script, "exec cat") {
				limit = 300 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			_, err := DialCommand(ctx, "sh", "-c", c.script)
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%v\nlacks %q", err, w)
				}
			}
		})
	}
	if _, err := DialCommand(t.Context(), "/no/such/program"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no program: %v", err)
	}
	if _, err := DialCommand(t.Context()); err == nil {
		t.Error("no command")
	}
}

// TestPipeEnds checks that the far side ends with its input and kills what it started, and that a
// client whose command dies has calls of unknown outcome and clear errors.
func TestPipeEnds(t *testing.T) {
	tier.Normal(t)
	dir := workspace(t)
	sb := dial(t, far(dir, "true")...)
	tools := sb.Tools()
	going := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		_, err := tools.Call(t.Context(), request("run", fileArgs{Script: "echo $$ > pid; echo on; exec sleep 1000"}), ToolHandlers{Output: func(sandbox.Stream, []byte) { close(begun) }})
		going <- err
	}()
	<-begun
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	p := sb.c.pipe.ReadWriteCloser.(*command)
	_ = p.in.Close() // as if this program had been killed
	if err := <-going; !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "connection to the far side has ended") {
		t.Errorf("a call while the connection ended: %v", err)
	}
	<-p.done
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
		t.Error("the far side has ended, but not what it started")
	}
	if _, err := tools.Call(t.Context(), request("read", fileArgs{Path: "a.txt"}), ToolHandlers{}); err == nil || errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "the command ended: exit status 0") {
		t.Errorf("a call after that: %v", err)
	}
	if _, err := sb.Exec(t.Context(), sandbox.Cmd{Args: []string{"true"}}); err == nil {
		t.Error("a command after that ran")
	}
	_ = sb.Close()
}

// TestPipeOfConnection checks that any pipe will do, and that the far side returns when the client
// closes the sandbox, when its context ends and when the pipe ends.
func TestPipeOfConnection(t *testing.T) {
	for _, how := range []string{"close", "context", "pipe", "lease"} {
		t.Run(how, func(t *testing.T) {
			near, remote := net.Pipe()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			state := filepath.Join(t.TempDir(), "state")
			cfg := PipeConfig{Dir: workspace(t), Sandbox: plain(), Tools: openFileTools, State: state}
			if how == "lease" {
				cfg.TTL = 500 * time.Millisecond
			}
			served := make(chan error, 1)
			go func() { served <- ServePipe(ctx, remote, cfg) }()
			sb, err := DialPipe(t.Context(), near)
			if err != nil {
				t.Fatal(err)
			}
			if got := mustCall[string](t, sb.Tools(), request("read", fileArgs{Path: "a.txt"}), ToolHandlers{}); got != "text a\n" {
				t.Errorf("%q", got)
			}
			switch how {
			case "close":
				if err := sb.Close(); err != nil {
					t.Error(err)
				}
			case "context":
				cancel()
			case "pipe":
				near.Close()
			case "lease":
				sb.c.cancel()
			}
			if err := <-served; err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("ServePipe: %v", err)
			}
			if _, err := os.Stat(state); err == nil {
				t.Error("the state is left")
			}
			_ = sb.Close()
		})
	}
}

// FuzzHello checks that what a command prints is understood or refused, and that nothing after the
// line is consumed.
func FuzzHello(f *testing.F) {
	f.Add([]byte("motd\n\x00luthier toolhost 1\nPRI"))
	f.Add([]byte("\x00luthier toolhost 1\r\n"))
	f.Add([]byte("\x00luthier toolhost \x00luthier toolhost 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h hello
		r := bytes.NewReader(b)
		if err := h.read(r); err == nil {
			line := pipeHello + pipeVersion + "\n"
			i := bytes.Index(b, []byte(line))
			if i < 0 || r.Len() != len(b)-i-len(line) {
				t.Fatalf("%d bytes are left of %q", r.Len(), b)
			}
		}
		if len(h.said) > 3*maxTold {
			t.Fatalf("kept %d bytes", len(h.said))
		}
		_ = told("x", h.said)
	})
}
