//go:build unix

package gitlog_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
)

// limitFileSize makes the kernel kill the process when it writes beyond a certain size.
func limitFileSize() {
	n, err := strconv.ParseUint(os.Getenv("HISTORY_TEST_LIMIT"), 10, 64)
	if err != nil {
		return
	}
	// Go's runtime turns the signal into an error; here it must kill the process.
	dying := make(chan os.Signal, 1)
	signal.Notify(dying, syscall.SIGXFSZ)
	go func() {
		<-dying
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}()
	limit := syscall.Rlimit{Cur: n, Max: n}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		os.Exit(4)
	}
}

// TestKilledAtAnyByte kills processes at regularly spaced bytes while they replace an older cache.
// Afterwards either the old or the new file must be complete.
func TestKilledAtAnyByte(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	r := newRepo(t)
	heads := r.randomHistory(rand.New(rand.NewPCG(31, 32)), 60)
	last := heads[59]
	want := say(open(t, r.dir, gitlog.Options{Head: last}))
	cache := t.TempDir()
	open(t, r.dir, gitlog.Options{Head: heads[30], CacheDir: cache})
	name := onlyFile(t, cache)
	old, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	died := 0
	for n := 700; n < 3*len(old); n += 1 + len(old)/tier.Pick(3, 5, 12) { // git's own configuration has 300 bytes
		if err := os.WriteFile(name, old, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "HISTORY_TEST_WRITER="+r.dir, "HISTORY_TEST_CACHE="+cache,
			"HISTORY_TEST_HEADS="+last, fmt.Sprintf("HISTORY_TEST_LIMIT=%d", n))
		if cmd.Run() != nil {
			died++
		}
		l := open(t, r.dir, gitlog.Options{Head: last, CacheDir: cache})
		if s := l.Status(); s.Cache != "" || s.Cached == 0 {
			t.Errorf("died at byte %d: %d commits are in the cache (%s)", n, s.Cached, s.Cache)
		}
		if d := cmp.Diff(want, say(l)); d != "" {
			t.Fatalf("died at byte %d (-want +got):\n%s", n, d)
		}
	}
	if died == 0 {
		t.Error("no process died: the test tests nothing")
	}
}

// TestGitDies cuts the output of git at arbitrary bytes: no incomplete commit may be accepted as
// complete.
func TestGitDies(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	r := newRepo(t)
	heads := r.randomHistory(rand.New(rand.NewPCG(41, 42)), 25)
	want := say(open(t, r.dir, gitlog.Options{Head: heads[24]}))
	dir := t.TempDir()
	script, whole := filepath.Join(dir, "git"), filepath.Join(dir, "whole")
	pipe := func(to string) {
		t.Helper()
		text := "#!/bin/sh\ngit \"$@\" | " + to + "\nexit 1\n"
		if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	pipe("tee '" + whole + "'")
	open(t, r.dir, gitlog.Options{Head: heads[24], Git: script})
	b, err := os.ReadFile(whole)
	if err != nil || len(b) == 0 {
		t.Fatal("git says nothing", err)
	}
	cut := 0
	for n := range b {
		// An end between two fields is the hardest case: it looks like the regular end.
		if b[n] != 0 && n%211 != 0 {
			continue
		}
		if cut++; cut%tier.Pick(13, 5, 1) != 0 {
			continue
		}
		if b[n] == 0 {
			n++
		}
		pipe(fmt.Sprintf("head -c %d", n))
		o := gitlog.Options{Head: heads[24], CacheDir: t.TempDir(), Git: script}
		l := open(t, r.dir, o)
		if s := l.Status(); s.State != gitlog.Broken && !s.GoGit {
			t.Fatalf("cut off after %d bytes: %+v", n, s)
		}
		o.Git = ""
		if d := cmp.Diff(want, say(open(t, r.dir, o))); d != "" {
			t.Fatalf("cut off after %d bytes, then read on (-want +got):\n%s", n, d)
		}
	}
}
