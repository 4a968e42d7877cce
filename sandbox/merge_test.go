package sandbox

import (
	"errors"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// TestMergeForks: a sandbox takes over what several forks changed, one after another, also after it
// has changed itself. If a fork changed a path that is different now, nothing is taken over, the
// path is named, and the fork stays open.
//
// Evidence: sandbox · A sandbox takes over the changes of several forks
func TestMergeForks(t *testing.T) {
	tier.Normal(t)
	tiers(t, func(t *testing.T, cfg Config) {
		dir := t.TempDir()
		write(t, dir, "a", "1\n")
		write(t, dir, "b", "1\n")
		write(t, dir, "c/d", "1\n")
		write(t, dir, "e/f/g", "1\n")
		write(t, dir, ".git/index", "1\n")
		cfg.Snapshot = SnapshotDir(dir)
		sb := open(t, cfg)
		fork := func(script string) Sandbox {
			t.Helper()
			f, err := sb.(Forker).Fork(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			sh(t, f, script)
			return f
		}
		merge := func(f Sandbox) error { return sb.(Merger).Merge(t.Context(), f) }
		state := func() string {
			return sh(t, sb, `find . -type f -printf '%m %U %p ' -exec cat {} \; ; find . -type l -printf '%p -> %l\n'; find . -type d -printf '%m %p\n'`)
		}
		first := fork("echo 2 >a; mkdir -p new/deep; echo n >new/deep/file; chmod 700 new; ln -s ../a new/link; rm b; echo 2 >.git/index; echo 2 >.git/first")
		second := fork("rm -r c; echo now a file >c; echo 2 >e/f/h; chmod 755 e/f/g; mkdir -p new; echo m >new/mine")
		same := fork("echo 2 >a; rm b; echo 3 >e/f/i; echo 3 >.git/index; echo 3 >.git/other")
		clash := fork("echo 9 >a; echo 9 >other; rm -r c; echo 9 >c")
		into := fork("rm b; mkdir b; echo 9 >b/x")
		nested := fork("echo 2 >j")
		inner, err := nested.(Forker).Fork(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sh(t, inner, "echo 2 >k")
		if err := nested.(Adopter).Adopt(t.Context(), inner); err != nil {
			t.Fatal(err)
		}
		for _, f := range []Sandbox{first, second, same, nested} {
			if err := merge(f); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Exec(t.Context(), Cmd{Args: []string{"true"}}); !errors.Is(err, ErrClosed) {
				t.Errorf("a fork that was taken over: %v", err)
			}
		}
		got := sh(t, sb, "cat a c e/f/h e/f/i j k new/deep/file new/mine .git/*; readlink new/link; stat -c %a new e/f/g; ls b 2>&1; find . -user $(id -u) ! -type d | wc -l; find . ! -type d | wc -l")
		if want := "2\nnow a file\n2\n3\n2\n2\nn\nm\n2\n2\n../a\n700\n755\n"; !strings.HasPrefix(got, want) {
			t.Errorf("merged\n%s\nwant\n%s", got, want)
		} else if f := strings.Fields(got); cfg.Floor == TierNamespaces && f[len(f)-1] != f[len(f)-2] {
			t.Errorf("%s files, of which the commands' user has %s", f[len(f)-1], f[len(f)-2])
		}
		before := state()
		err = merge(clash)
		if !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), `"a"`) || !strings.Contains(err.Error(), `"c"`) || strings.Contains(err.Error(), "other") {
			t.Errorf("a clash: %v", err)
		}
		if sh(t, clash, "cat other") != "9\n" {
			t.Error("the fork is not usable after a conflict")
		}
		sh(t, sb, "echo here >b")
		err = merge(into)
		if !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), `"b`) {
			t.Errorf("a file where the fork has a directory: %v", err)
		}
		sh(t, sb, "rm b")
		if after := state(); after != before {
			t.Errorf("after a conflict\n%s\nbefore\n%s", after, before)
		}
		if err := merge(sb); err == nil || errors.Is(err, ErrConflict) {
			t.Errorf("merged with itself: %v", err)
		}
		if treeOf(t, dir)["a"] != "1\n" {
			t.Error("the directory below has changed")
		}
	})
}
