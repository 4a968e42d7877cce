package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// manyFiles makes a workspace of n small files in n/50 directories.
func manyFiles(b *testing.B, n int) string {
	b.Helper()
	dir := b.TempDir()
	for i := range n {
		write(b, dir, fmt.Sprintf("d%d/f%d", i/50, i), fmt.Sprintln(i))
	}
	return dir
}

func benchFork(b *testing.B, changed int) {
	sb := open(b, Config{Snapshot: SnapshotDir(manyFiles(b, 5000))})
	upper := sb.(*local).ws.upper()
	for b.Loop() {
		b.StopTimer()
		for i := range changed { // changed from outside as commands would; the owner does not matter here
			write(b, upper, fmt.Sprintf("new%d/f%d", i/50, i), "x")
		}
		b.StartTimer()
		f, err := sb.(Forker).Fork(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
		if err := sb.(Restorer).Restore(b.Context(), AtSnapshot); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkFork shows that a fork costs as much as two starts, whatever was changed.
func BenchmarkFork(b *testing.B) {
	for _, changed := range []int{1, 5000} {
		b.Run(fmt.Sprintf("changed=%d", changed), func(b *testing.B) { benchFork(b, changed) })
	}
}

func BenchmarkChanges(b *testing.B) {
	for _, changed := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("changed=%d", changed), func(b *testing.B) {
			sb := open(b, Config{Snapshot: SnapshotDir(manyFiles(b, 5000))})
			sh(b, sb, fmt.Sprintf("for i in $(seq 0 %d); do echo new > d$((i/50))/f$i; done", changed-1))
			b.ReportAllocs()
			for b.Loop() {
				if err := sb.(Exporter).Diff(b.Context(), AtSnapshot, io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDeepTree uses a tree in which each directory contains the next one.
func BenchmarkDeepTree(b *testing.B) {
	for _, depth := range []int{1200, 5000} {
		sb := open(b, Config{Snapshot: SnapshotDir(b.TempDir()), ReadOnly: []string{self(b)}})
		exit := mustExec(b, sb, Cmd{Args: []string{self(b), fmt.Sprint(depth), "d"}, Env: []string{helperEnv + "=deep"}})
		if !exit.Success() {
			b.Fatalf("%v %s", exit, exit.Stderr)
		}
		for name, look := range map[string]func() error{
			"changes": func() error { _, err := sb.(Differ).Changes(b.Context()); return err },
			"diff":    func() error { return sb.(Exporter).Diff(b.Context(), AtSnapshot, io.Discard) },
			"review":  func() error { _, err := sb.(Reviewer).Review(b.Context()); return err },
		} {
			b.Run(fmt.Sprintf("depth=%d/%s", depth, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := look(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkScratch makes and removes the files that a sandbox keeps on the host.
func BenchmarkScratch(b *testing.B) {
	cfg := &Config{Dir: b.TempDir(), ScratchDir: b.TempDir()}
	b.ReportAllocs()
	for b.Loop() {
		ws, err := openWorkspace(b.Context(), cfg)
		if err == nil {
			err = ws.own(&tree.Owner{UID: os.Getuid(), GID: os.Getgid()})
		}
		if err = errors.Join(err, ws.remove()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLayer makes a layer of a commit of 5,000 files, and finds it again.
func BenchmarkLayer(b *testing.B) {
	repo := repository(b)
	for i := range 5000 {
		write(b, repo, fmt.Sprintf("d%d/f%d", i/50, i), fmt.Sprintln(i))
	}
	commitEverything(b, repo)
	b.Run("made", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			s := store(b, LayersConfig{})
			b.StartTimer()
			l, err := s.Commit(b.Context(), repo, "HEAD")
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			if err := errors.Join(l.Close(), os.RemoveAll(filepath.Dir(s.store.Top()))); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	})
	b.Run("found", func(b *testing.B) {
		s := store(b, LayersConfig{})
		head := headOf(b, repo)
		for b.Loop() {
			l, err := s.Commit(b.Context(), repo, head)
			if err != nil {
				b.Fatal(err)
			}
			if err := l.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
