package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/sandbox/remote"
)

// TestServe: -serve -tools serves sandboxes with the coding tools to whoever has the token, and a
// signal ends it.
func TestServe(t *testing.T) {
	const token = "a token of sixteen bytes"
	cmd := exec.Command(os.Args[0], "-serve", "127.0.0.1:0", "-tools")
	cmd.Env = append(os.Environ(), asProgram+"=1", "LUTHIER_TOKEN="+token)
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	line, err := bufio.NewReader(errs).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, url, _ := strings.Cut(strings.TrimSpace(line), "serving ")
	url, _, _ = strings.Cut(url, ";")
	dir := t.TempDir()
	if _, err := luthier.Open(t.Context(), luthier.Remote(remote.Options{URL: url, Token: "another token of that size", Dir: dir})); err == nil {
		t.Error("a wrong token was accepted")
	}
	w, err := luthier.Open(t.Context(), luthier.Remote(remote.Options{URL: url, Token: token, Dir: dir}))
	if err != nil && strings.Contains(err.Error(), "no isolation of the required tier") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after a signal: %v", err)
	}
}
