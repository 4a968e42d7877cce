package checkpoint

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// clone makes a repository of the script in a folder of its own.
func clone(t *testing.T, script string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", "git init -q .; git config user.name a; git config user.email a@example.com\n"+script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// many are files whose contents are much alike, so that git packs them as deltas.
const many = `for i in 1 2 3 4 5 6 7 8 9; do mkdir -p d$i; for j in 1 2 3 4 5 6; do seq 1 900 >d$i/f$j; echo $i $j >>d$i/f$j; done; done
printf '#!/bin/sh\n' >run; chmod 755 run; ln -s run link; printf 'a\r\nb\r\n' >crlf.txt; printf 'hello\n' >plain; printf '$Id$\n' >id.c; : >empty
`

const commit = "\nsleep 0.03; git add -A .; sleep 0.03; git update-index -q --refresh || true; git commit -qm x\n"

// TestBorrowedHashesAreRight: whatever git converts when it records a file, and whatever happens to
// the file and the index afterwards, a checkpoint that takes hashes from the index has those of the
// files' bytes. How many it takes shows that it does.
//
// Evidence: agent · The first checkpoint of a clone reads only what git has not
func TestBorrowedHashesAreRight(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		least, most  int // hashes that are taken from the index
	}{
		{"loose objects", many + commit, 58, 59},
		{"packed", many + commit + "git gc -q", 58, 59},
		{"several packs", many + commit + "git gc -q; echo more >more; git add .; git commit -qm y; git repack -q; echo loose >loose; git add .; sleep 0.03; git commit -qm z; git update-index -q --refresh", 59, 61},
		{"an old index", many + commit + "git update-index --index-version 4", 58, 59},
		{"line endings, attribute", many + "echo '* text=auto' >.gitattributes" + commit + "git gc -q", 58, 59},
		{"line endings, eol", many + "echo '*.txt eol=crlf' >.gitattributes" + commit + "rm crlf.txt; git checkout -q crlf.txt", 58, 59},
		{"line endings, configuration", many + "git config core.autocrlf true" + commit + "rm -rf d1; git checkout -q d1; git gc -q", 52, 59},
		{"attributes that changed later", many + "echo '* text=auto' >.gitattributes" + commit + "rm .gitattributes; git gc -q", 0, 59},
		{"attributes that are not tracked", many + commit + "git gc -q; echo '* text eol=crlf' >.gitattributes; rm -rf d1; git checkout -q d1", 40, 59},
		{"a filter", many + "git config filter.r.clean 'tr a-m n-z'; git config filter.r.smudge 'tr n-z a-m'; echo 'plain filter=r' >.gitattributes" + commit, 50, 59},
		{"a filter of a directory", many + "git config filter.r.clean 'tr 0-4 5-9'; echo 'd1/** filter=r' >.gitattributes" + commit, 0, 0},
		{"a macro", many + "git config filter.r.clean 'tr 0-4 5-9'; printf '[attr]m filter=r\\nf1 m\\n' >.gitattributes" + commit, 0, 0},
		{"private attributes", many + "git config filter.r.clean 'tr 0-4 5-9'; mkdir -p .git/info; echo 'f1 filter=r' >.git/info/attributes" + commit, 40, 52},
		{"attributes of the configuration", many + "git config filter.r.clean 'tr 0-4 5-9'; echo 'f1 filter=r' >.git/at; git config core.attributesFile .git/at; git config core.attributesFile $PWD/.git/at" + commit, 40, 52},
		{"an included configuration", many + "git config filter.r.clean 'tr 0-4 5-9'; echo 'f1 filter=r' >.git/at; printf \"[core]\\n\\tattributesFile = $PWD/.git/at\\n\" >.git/more; git config include.path more" + commit, 40, 52},
		{"ident", many + "echo '*.c ident' >.gitattributes" + commit + "rm id.c; git checkout -q id.c", 50, 59},
		{"an encoding", many + "printf 'a\\0b\\0' >wide; echo 'wide working-tree-encoding=UTF-16LE' >.gitattributes" + commit, 50, 60},
		{"changed since", many + commit + "echo x >>plain; printf 'HELLO\\n' >d1/f1; chmod 644 run; rm d2/f2; mv d3 d33; ln -sf plain link; touch d4/f4", 40, 55},
		{"flags", many + commit + "git update-index --assume-unchanged plain; git update-index --skip-worktree d1/f1; printf 'world\\n' >plain; echo x >>d1/f1; echo n >new; git add -N new", 50, 58},
		{"conflicts", many + commit + "git checkout -qb s; echo s >plain; git commit -qam s; git checkout -q -; echo m >plain; git commit -qam m; git merge -q s || true", 50, 59},
		{"a submodule", many + commit + "git -c protocol.file.allow=always submodule --quiet add $PWD sub" + commit, 58, 122},
		{"a damaged pack", many + commit + "git gc -q; f=$(ls .git/objects/pack/*.pack); chmod 644 $f; head -c 2000 /dev/zero >$f", 0, 59},
		{"no objects", many + commit + "rm -rf .git/objects/*", 0, 0},
		{"no index", many + commit + "rm .git/index", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			work := clone(t, tt.script)
			s := open(t, work, Options{})
			s.packFrom = 1
			sc := &scanner{Store: s, ctx: t.Context(), m: newManifest(), seen: map[string]bool{}}
			must(t, s.viewing(t.Context(), func() error {
				sc.repository = s.lender()
				for p := range state(t, work) {
					sc.add(strings.TrimSuffix(p, "/"), true)
				}
				sc.borrow()
				return nil
			}))
			taken := 0
			for _, f := range sc.m.files {
				if f.hash == plumbing.ZeroHash {
					continue
				}
				taken++
				data, err := os.ReadFile(filepath.Join(work, f.path))
				must(t, err)
				if got := plumbing.ComputeHash(plumbing.BlobObject, data); got != f.hash {
					t.Errorf("%s: the hash is %s, that of its bytes %s", f.path, f.hash, got)
				}
			}
			if taken < tt.least || taken > tt.most {
				t.Errorf("%d hashes were taken from the index, want %d to %d", taken, tt.least, tt.most)
			}
		})
	}
}

// TestBorrowedContentStays: what a checkpoint took over comes back even if the repository is gone.
func TestBorrowedContentStays(t *testing.T) {
	for _, script := range []string{many + commit, many + commit + "git gc -q", many + commit + "git gc -q; echo 1 >plain" + commit} {
		work := clone(t, script)
		store := t.TempDir()
		s, err := Open(work, store, Options{})
		must(t, err)
		s.packFrom = 1
		before := state(t, work)
		id, err := s.Snapshot(context.Background(), "one")
		must(t, err)
		must(t, s.Close())
		for _, e := range must1[[]os.DirEntry](t)(os.ReadDir(work)) {
			must(t, os.RemoveAll(filepath.Join(work, e.Name())))
		}
		s = open2(t, work, store)
		if _, err := s.Restore(context.Background(), id); err != nil {
			t.Fatal(err)
		}
		after := state(t, work)
		for p, want := range before {
			if !strings.HasPrefix(p, ".git/") && after[p] != want {
				t.Errorf("%s is %q, want %q", p, after[p], want)
			}
		}
		if _, err := s.Snapshot(context.Background(), "two"); err != nil {
			t.Error(err)
		}
		must(t, s.Close())
	}
}

func open2(t *testing.T, work, store string) *Store {
	t.Helper()
	s, err := Open(work, store, Options{})
	must(t, err)
	return s
}

// TestBorrowWasCutShort: a process that is killed while it takes packs over leaves a store that
// works.
func TestBorrowWasCutShort(t *testing.T) {
	work := clone(t, many+commit+"git gc -q")
	idx := must1[[]string](t)(filepath.Glob(filepath.Join(work, ".git", "objects", "pack", "*.idx")))
	for _, links := range []int{1, 2} {
		store := t.TempDir()
		must(t, open2(t, work, store).Close())
		for _, end := range []string{".idx", ".pack"}[:links] {
			name := strings.TrimSuffix(idx[0], ".idx") + end
			must(t, os.Link(name, filepath.Join(store, "objects", "pack", filepath.Base(name))))
		}
		s := open2(t, work, store)
		s.packFrom = 1
		id, err := s.Snapshot(context.Background(), fmt.Sprint(links))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(work, "plain"), []byte("later"), 0o644))
		_, err = s.Restore(context.Background(), id)
		must(t, err)
		if got := must1[[]byte](t)(os.ReadFile(filepath.Join(work, "plain"))); string(got) != "hello\n" {
			t.Errorf("plain is %q", got)
		}
		must(t, s.Close())
	}
}

// FuzzPackedSize: no pack makes the reader of sizes fail.
func FuzzPackedSize(f *testing.F) {
	f.Add([]byte{0x30})
	f.Add([]byte{0xe5, 0x05, 0x81, 0x00, 0x78, 0x9c})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		begun := time.Now()
		n, err := new(packSet).sizeAt(strings.NewReader(string(data)), 0)
		if err == nil && n < 0 {
			t.Errorf("the size is %d", n)
		}
		if time.Since(begun) > 10*time.Second {
			t.Error("it took", time.Since(begun))
		}
	})
}
