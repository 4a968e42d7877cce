package attacks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/internal/sandboxtest"
	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// What commands leave behind is also an attack on the host that lists, exports and removes it. None
// of these tests measures time, but without the package's bounds they would not end.

// hostile opens a sandbox of a tier and runs one of the helpers in it.
func hostile(t testing.TB, cfg sandbox.Config, helper string, args ...string) (sb sandbox.Sandbox, scratch string) {
	t.Helper()
	if cfg.Snapshot == (sandbox.Snapshot{}) {
		cfg.Snapshot = sandbox.SnapshotDir(t.TempDir())
	}
	cfg.ScratchDir = t.TempDir()
	cfg.ReadOnly = []string{self(t)}
	sb = open(t, cfg)
	run(t, sb, helper, args...)
	return sb, cfg.ScratchDir
}

func run(t testing.TB, sb sandbox.Sandbox, helper string, args ...string) {
	t.Helper()
	exit := mustExec(t, sb, sandbox.Cmd{Args: append([]string{self(t)}, args...), Env: []string{helperEnv + "=" + helper}})
	if !exit.Success() {
		t.Fatalf("%s: %v %s", helper, exit, exit.Stderr)
	}
}

func init() {
	// alike makes files whose names differ only in case.
	helpers["alike"] = func(a []string) error {
		bits, err := strconv.Atoi(a[0])
		for i := 0; err == nil && i < 1<<bits; i++ {
			name := []byte(strings.Repeat("a", bits))
			for b := range name {
				name[b] -= byte(i >> b & 1 * ('a' - 'A'))
			}
			err = os.WriteFile(string(name), nil, 0o644)
		}
		return err
	}
	// links makes links that lead through each other, with as many names as a link can hold, and
	// then many links that lead to them.
	helpers["links"] = func([]string) error {
		err := os.Mkdir("d", 0o755)
		for i := range 39 {
			err = errors.Join(err, os.Symlink(strings.Repeat("d/../", 800)+fmt.Sprintf("l%02d", i+1), fmt.Sprintf("l%02d", i)))
		}
		for i := range 500 {
			err = errors.Join(err, os.Symlink("l00", fmt.Sprintf("m%d", i)))
		}
		return err
	}
}

// both runs f with an overlay and with a copy of the snapshot; with -short only with the overlay.
func both(t *testing.T, f func(t *testing.T, cfg sandbox.Config)) {
	tiers := []sandbox.Tier{sandbox.TierNone, sandbox.TierNamespaces}
	each(t, tier.Pick(tiers[1:], tiers, tiers), f)
}

// costly is like both, for trees that take seconds to make and to walk.
func costly(t *testing.T, f func(t *testing.T, cfg sandbox.Config)) {
	tiers := []sandbox.Tier{sandbox.TierNone, sandbox.TierNamespaces}
	each(t, tier.Pick(tiers[1:], tiers[1:], tiers), f)
}

func each(t *testing.T, tiers []sandbox.Tier, f func(t *testing.T, cfg sandbox.Config)) {
	for _, tier := range tiers {
		t.Run(tier.String(), func(t *testing.T) { f(t, sandbox.Config{Floor: tier, Ceiling: tier}) })
	}
}

// Evidence: sandbox · Deep trees and long paths do not stall or fill the host
func TestAttackDeepTree(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	costly(t, func(t *testing.T, cfg sandbox.Config) {
		// The path is longer than the kernel accepts, and deeper than the number of descriptors a
		// process usually has.
		const depth, name = 1200, "deep"
		sb, scratch := hostile(t, cfg, "deep", strconv.Itoa(depth), name)
		changes, err := sb.(sandbox.Differ).Changes(t.Context())
		if err != nil || len(changes) != depth+3 {
			t.Fatalf("%d changes, %v", len(changes), err)
		}
		bottom := strings.Repeat(name+"/", depth)
		if !slices.Contains(changes, sandbox.Change{Path: bottom + "bottom", Kind: sandbox.Added, Mode: 0o644}) {
			t.Error("the file in the last one is missing")
		}
		var diff strings.Builder
		if err := sb.(sandbox.Exporter).Diff(t.Context(), sandbox.AtSnapshot, &diff); err != nil || !strings.Contains(diff.String(), bottom+"bottom\n@@ -0,0 +1 @@\n+text\n") {
			t.Errorf("diff of %d bytes, %v", diff.Len(), err)
		}
		r := review(t, sb)
		if refused := r.Refused(); len(refused) != 1 || refused[0].Path != bottom+"out" || refused[0].Rule != sandbox.RuleLinkEscape {
			t.Errorf("%d findings refuse", len(refused))
		}
		dst := t.TempDir()
		for range 2 {
			if _, err := sb.(sandbox.Exporter).Export(t.Context(), sandbox.ExportOptions{Dir: dst, Allow: func(sandbox.Finding) bool { return true }}); err != nil {
				t.Fatalf("%.300v", err)
			}
		}
		if a, b := countTree(t, dst), depth+4; a != b {
			t.Errorf("%d paths were exported, want %d", a, b)
		}
		if err := tree.Remove(dst); err != nil { // t.TempDir cannot remove this
			t.Errorf("%.300v", err)
		}
		fork := fork(t, sb)
		if got := kinds(t, fork); len(got) != depth+3 {
			t.Errorf("the fork has %d changes", len(got))
		}
		if err := errors.Join(fork.(sandbox.Restorer).Restore(t.Context(), sandbox.AtSnapshot), fork.Close()); err != nil {
			t.Errorf("%.300v", err)
		}
		if err := sb.Close(); err != nil {
			t.Errorf("%.300v", err)
		}
		sandboxtest.Empty(t, scratch)
	})
}

// countTree counts the paths of a tree of any depth.
func countTree(t testing.TB, dir string) int {
	t.Helper()
	v, err := tree.OpenView([]tree.Dir{{Path: dir, Full: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	var count func(e *tree.Entry) int
	count = func(e *tree.Entry) int {
		names, err := v.Names(e)
		if err != nil {
			t.Fatal(err)
		}
		n := 1
		for _, name := range names {
			child, err := v.Child(e, name)
			if err != nil || child == nil {
				t.Fatalf("%s: %v", name, err)
			}
			n += count(child)
		}
		return n
	}
	return count(v.Top())
}

// TestAttackLongPaths makes paths that would take more memory than a host should give.
//
// Evidence: sandbox · Deep trees and long paths do not stall or fill the host
func TestAttackLongPaths(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	costly(t, func(t *testing.T, cfg sandbox.Config) {
		sb, scratch := hostile(t, cfg, "deep", "2150", strings.Repeat("n", 255)) // more than half a gigabyte in total
		if _, err := sb.(sandbox.Differ).Changes(t.Context()); !errors.Is(err, sandbox.ErrTooLarge) {
			t.Errorf("%.300v", err)
		}
		if err := sb.Close(); err != nil {
			t.Errorf("%.300v", err)
		}
		sandboxtest.Empty(t, scratch)
	})
}

func TestAttackSparseFile(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, cfg sandbox.Config) {
		const size = 1 << 40
		sb, _ := hostile(t, cfg, "sparse-of", strconv.Itoa(size))
		_, err := sb.(sandbox.Exporter).Export(t.Context(), sandbox.ExportOptions{})
		var refused *sandbox.ReviewError
		if !errors.As(err, &refused) || refused.Findings[0].Rule != sandbox.RuleLarge {
			t.Fatalf("exported without a question: %v", err)
		}
		fork := fork(t, sb) // without an overlay this copies it
		dst := t.TempDir()
		for range 2 { // the second round compares the two
			if _, err := fork.(sandbox.Exporter).Export(t.Context(), sandbox.ExportOptions{Dir: dst, Allow: func(sandbox.Finding) bool { return true }}); err != nil {
				t.Fatal(err)
			}
		}
		f, err := os.Open(filepath.Join(dst, "big"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		fi, err := f.Stat()
		if err != nil || fi.Size() != size || fi.Sys().(*syscall.Stat_t).Blocks > 1024 {
			t.Errorf("%d bytes on the disk of %d, %v", fi.Sys().(*syscall.Stat_t).Blocks*512, fi.Size(), err)
		}
		for _, at := range []int64{0, size / 2, size - 4096} {
			b := make([]byte, 4096)
			if _, err := f.ReadAt(b, at); err != nil || !bytes.HasPrefix(b, []byte("data")) {
				t.Errorf("at %d: %q, %v", at, b[:8], err)
			}
		}
	})
}

func init() {
	helpers["sparse-of"] = func(a []string) error {
		size, err := strconv.ParseInt(a[0], 10, 64)
		if err != nil {
			return err
		}
		f, err := os.Create("big")
		if err != nil {
			return err
		}
		for _, at := range []int64{0, size / 2, size - 4096} {
			_, err := f.WriteAt([]byte("data"), at)
			if err != nil {
				return err
			}
		}
		return errors.Join(f.Truncate(size), f.Close())
	}
}

// stopWhen is a context that ends as soon as a condition holds.
type stopWhen struct {
	context.Context
	happened func() bool
}

func (c stopWhen) Err() error {
	if c.happened() {
		return context.Canceled
	}
	return nil
}

// TestExportStopsWithinAFile checks that writing a large file can be cancelled in the middle of it.
func TestExportStopsWithinAFile(t *testing.T) {
	sb := open(t, sandbox.Config{Floor: sandbox.TierNone, Ceiling: sandbox.TierNone, Snapshot: sandbox.SnapshotDir(t.TempDir())})
	sh(t, sb, fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x > big", 64<<20)) // several steps of a copy
	dst := t.TempDir()
	begun := func() bool {
		found, _ := filepath.Glob(filepath.Join(dst, ".luthier-export-*"))
		for _, p := range found {
			if fi, err := os.Stat(p); err == nil && fi.Size() > 0 {
				return true
			}
		}
		return false
	}
	if _, err := sb.(sandbox.Exporter).Export(stopWhen{t.Context(), begun}, sandbox.ExportOptions{Dir: dst}); !errors.Is(err, context.Canceled) {
		t.Errorf("went on: %v", err)
	}
	sandboxtest.Empty(t, dst)
}

func TestAttackNamesAlike(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	letters := tier.Pick(10, 12, 13)
	sb, _ := hostile(t, sandbox.Config{}, "alike", strconv.Itoa(letters))
	r := review(t, sb)
	if len(r.Changes) != 1<<letters || len(r.Findings) != 1<<letters || r.Findings[0].Rule != sandbox.RuleNameCollision {
		t.Errorf("%d changes, %d findings", len(r.Changes), len(r.Findings))
	}
}

func TestAttackManyLinks(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	sb, _ := hostile(t, sandbox.Config{}, "links")
	r := review(t, sb)
	if !slices.ContainsFunc(r.Refused(), func(f sandbox.Finding) bool {
		return f.Rule == sandbox.RuleUnreadable && strings.HasPrefix(f.Path, "m")
	}) {
		t.Errorf("all were followed: %v", r.Refused())
	}
	// In a tree with fewer links, a valid link is accepted.
	sh(t, sb, "rm *[0-9]; ln -s d fine")
	if got := review(t, sb).Refused(); len(got) > 0 {
		t.Error(got)
	}
}

func TestAttackManyFindings(t *testing.T) {
	t.Parallel()
	sb := open(t, sandbox.Config{Snapshot: sandbox.SnapshotDir(t.TempDir())})
	sh(t, sb, "seq -f '* diff=d%.0f' 50000 > .gitattributes; echo '* filter=own' >> .gitattributes")
	r := review(t, sb)
	if last := r.Findings[len(r.Findings)-1]; len(r.Findings) != 101 || last.Severity != sandbox.Refuse {
		t.Errorf("%d findings, %d refuse", len(r.Findings), len(r.Refused()))
	}
}

// TestAttackUnreadable checks that a file the host's user may not read neither hides other changes
// nor passes unseen. Root may read everything.
func TestAttackUnreadable(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, cfg sandbox.Config) {
		dir := t.TempDir()
		write(t, dir, "old/f", "1")
		cfg.Snapshot = sandbox.SnapshotDir(dir)
		sb := open(t, cfg)
		sh(t, sb, "mkdir -p d/in; echo 1 > d/in/f; chmod 0 d/in d; echo 2 > old/f; chmod 0 old old/f; echo > seen; echo secret > s; chmod 0 s")
		got := kinds(t, sb)
		for _, name := range []string{"d", "old", "seen", "s"} {
			if got[name] == "" {
				t.Errorf("%s is not among %v", name, got)
			}
		}
		r := review(t, sb)
		refused := slices.ContainsFunc(r.Refused(), func(f sandbox.Finding) bool { return f.Path == "d" && f.Rule == sandbox.RuleUnreadable })
		if root := os.Geteuid() == 0; refused == root {
			t.Errorf("root: %v, refused: %v", root, r.Findings)
		}
		if err := sb.(sandbox.Exporter).Diff(t.Context(), sandbox.AtSnapshot, io.Discard); err != nil {
			t.Error(err)
		}
	})
}

// TestAttackSpecialFiles checks that no host tool blocks on a path that is not a regular file.
func TestAttackSpecialFiles(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, cfg sandbox.Config) {
		sb, _ := hostile(t, cfg, "special")
		if got := kinds(t, sb); len(got) != 5 {
			t.Errorf("changes: %v", got)
		}
		var diff strings.Builder
		if err := sb.(sandbox.Exporter).Diff(t.Context(), sandbox.AtSnapshot, &diff); err != nil || strings.Count(diff.String(), "Special file ") != 2 {
			t.Errorf("%v\n%s", err, &diff)
		}
		dst := t.TempDir()
		if _, err := sb.(sandbox.Exporter).Export(t.Context(), sandbox.ExportOptions{Dir: dst, Allow: func(sandbox.Finding) bool { return true }}); err != nil {
			t.Error(err)
		}
		if got := treeOf(t, dst); len(got) != 2 {
			t.Errorf("exported: %v", got)
		}
		fork(t, sb)
	})
}

func init() {
	helpers["special"] = func([]string) error {
		err := errors.Join(os.Mkdir("d", 0o755), unix.Mkfifo("d/pipe", 0o644), os.WriteFile("a", []byte("x"), 0o644), os.Link("a", "b"))
		fd, sockErr := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err = errors.Join(err, sockErr); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrUnix{Name: "d/socket"})
	}
}

// TestMergeDeepLayers checks that layers are merged without using paths, too.
func TestMergeDeepLayers(t *testing.T) {
	tier.Normal(t)
	t.Parallel()
	depth := tier.Pick(300, 600, 1200)
	a, b, dst := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "merged")
	for _, dir := range []string{a, b} {
		sb := open(t, withDirInPlace(dir))
		run(t, sb, "deep", strconv.Itoa(depth), "deep")
	}
	write(t, b, "deep/older", "x")
	if err := tree.Merge([]tree.Dir{{Path: a}, {Path: b}}, dst); err != nil {
		t.Fatalf("%.300v", err)
	}
	if got := countTree(t, dst); got != depth+5 {
		t.Errorf("%d paths", got)
	}
	for _, dir := range []string{a, b, dst} {
		if err := tree.Remove(dir); err != nil {
			t.Errorf("%.300v", err)
		}
	}
}

func withDirInPlace(dir string) sandbox.Config {
	cfg := sandbox.Config{Floor: sandbox.TierNone, Ceiling: sandbox.TierNone}
	cfg.Dir = dir
	return cfg
}
