package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

// medians collects how long things take, by name.
type medians map[string][]time.Duration

func (m medians) time(b *testing.B, name string, f func() error) {
	begun := time.Now()
	if err := f(); err != nil {
		b.Fatal(err)
	}
	m[name] = append(m[name], time.Since(begun))
}

func (m medians) of(name string) float64 {
	slices.Sort(m[name])
	return float64(m[name][len(m[name])/2].Nanoseconds()) / 1000
}

// BenchmarkTree compares a workspace's tree with the plain directory below it, in turns. It reports
// medians in microseconds and their ratio.
func BenchmarkTree(b *testing.B) {
	dir := manyFiles(b, 5000)
	tree := aTree(b, open(b, Config{Snapshot: SnapshotDir(dir)}))
	plain, err := DirTree(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer plain.Close()
	name := func(i int) string { i *= 7; return fmt.Sprintf("d%d/f%d", i%5000/50, i%5000) }
	text := make([]byte, 4096)
	for _, op := range []struct {
		name string
		call func(*Tree, context.Context, func(*os.Root) error) error
		do   func(root *os.Root, i int) error
	}{
		{"lstat", (*Tree).View, func(root *os.Root, i int) error { _, err := root.Lstat(name(i)); return err }},
		{"read", (*Tree).View, func(root *os.Root, i int) error { _, err := root.ReadFile(name(i)); return err }},
		{"write", (*Tree).Change, func(root *os.Root, i int) error {
			return errors.Join(root.WriteFile(".temp", text, 0o644), root.Rename(".temp", "target"))
		}},
	} {
		b.Run(op.name, func(b *testing.B) {
			m, i := medians{}, 0
			for b.Loop() {
				i++
				for kind, t := range map[string]*Tree{"plain": plain, "tree": tree} {
					m.time(b, kind, func() error {
						return op.call(t, b.Context(), func(root *os.Root) error { return op.do(root, i) })
					})
				}
			}
			b.ReportMetric(m.of("plain"), "plain-us")
			b.ReportMetric(m.of("tree"), "tree-us")
			b.ReportMetric(m.of("tree")/m.of("plain"), "ratio")
		})
	}
}

// BenchmarkForkTree forks a workspace that changed, and opens both trees, in turns with forks while
// no tree is open. It reports medians in microseconds.
func BenchmarkForkTree(b *testing.B) {
	for _, files := range []int{5000, 100000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			sb := open(b, Config{Snapshot: SnapshotDir(manyFiles(b, files))})
			m := medians{}
			var k Sandbox
			fork := func() (err error) {
				k, err = sb.(Forker).Fork(b.Context())
				return err
			}
			b.ResetTimer()
			for b.Loop() {
				sh(b, sb, "echo >> f")
				m.time(b, "plain-fork", fork)
				tree, err := sb.(Treer).Tree(b.Context())
				if err := errors.Join(err, k.Close()); err != nil {
					b.Fatal(err)
				}
				changeIn(b, tree, func(root *os.Root) error { return root.WriteFile("f", nil, 0o644) })
				m.time(b, "fork", fork)
				var of *Tree
				m.time(b, "tree", func() (err error) {
					of, err = k.(Treer).Tree(b.Context())
					return err
				})
				m.time(b, "own-tree", func() error { return tree.View(b.Context(), func(*os.Root) error { return nil }) })
				if err := errors.Join(of.Close(), tree.Close(), k.Close()); err != nil {
					b.Fatal(err)
				}
			}
			for name := range m {
				b.ReportMetric(m.of(name), name+"-us")
			}
		})
	}
}
