package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"
)

// BenchmarkTree compares a workspace's tree with the plain directory below it.
func BenchmarkTree(b *testing.B) {
	dir := manyFiles(b, 5000)
	tree := aTree(b, open(b, Config{Snapshot: SnapshotDir(dir)}))
	plain, err := DirTree(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer plain.Close()
	name := func(i int) string { return fmt.Sprintf("d%d/f%d", i%5000/50, i%5000) }
	for _, op := range []struct {
		name   string
		change bool
		do     func(root *os.Root, i int) error
	}{
		{"lstat", false, func(root *os.Root, i int) error { _, err := root.Lstat(name(i * 7)); return err }},
		{"read", false, func(root *os.Root, i int) error {
			f, err := root.Open(name(i * 7))
			if err == nil {
				_, err = io.Copy(io.Discard, f)
				f.Close()
			}
			return err
		}},
		{"write", true, func(root *os.Root, i int) error {
			err := root.WriteFile(".temp", make([]byte, 4096), 0o644)
			if err == nil {
				err = root.Rename(".temp", "target")
			}
			return err
		}},
	} {
		for kind, t := range map[string]*Tree{"plain": plain, "tree": tree} {
			b.Run(op.name+"/"+kind, func(b *testing.B) {
				call := t.View
				if op.change {
					call = t.Change
				}
				i := 0
				for b.Loop() {
					i++
					if err := call(b.Context(), func(root *os.Root) error { return op.do(root, i) }); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkForkTree forks a workspace that changed, and opens both trees. It reports the medians of
// the fork and of the trees, and how long a fork takes if no tree is open.
func BenchmarkForkTree(b *testing.B) {
	for _, files := range []int{5000, 100000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			sb := open(b, Config{Snapshot: SnapshotDir(manyFiles(b, files))})
			times := map[string][]time.Duration{}
			timed := func(name string, f func() error) {
				begun := time.Now()
				if err := f(); err != nil {
					b.Fatal(err)
				}
				times[name] = append(times[name], time.Since(begun))
			}
			var k Sandbox
			fork := func() (err error) {
				k, err = sb.(Forker).Fork(b.Context())
				return err
			}
			b.ResetTimer()
			for b.Loop() {
				sh(b, sb, "echo >> f")
				timed("plain-fork", fork)
				if err := k.Close(); err != nil {
					b.Fatal(err)
				}
				tree := aTree(b, sb)
				changeIn(b, tree, func(root *os.Root) error { return root.WriteFile("f", nil, 0o644) })
				timed("fork", fork)
				var of *Tree
				timed("tree", func() (err error) {
					of, err = k.(Treer).Tree(b.Context())
					return err
				})
				timed("parent-tree", func() error { return tree.View(b.Context(), func(*os.Root) error { return nil }) })
				if err := errors.Join(of.Close(), tree.Close(), k.Close()); err != nil {
					b.Fatal(err)
				}
			}
			for name, all := range times {
				slices.Sort(all)
				b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, name+"-ms")
			}
		})
	}
}
