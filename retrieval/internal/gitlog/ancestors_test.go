package gitlog_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
)

// TestOnlyAncestorsCount opens a history at many commits in random order with one cache. Each time
// the commits must be the ancestors that git lists, and everything else must be the same as without
// a cache.
func TestOnlyAncestorsCount(t *testing.T) {
	tier.Normal(t)
	for seed := range tier.Pick[uint64](2, 6, 6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			r := newRepo(t)
			commits := r.randomHistory(rng, 120)
			cache := t.TempDir()
			for range tier.Pick(15, 25, 25) {
				head := commits[rng.IntN(len(commits))]
				o := gitlog.Options{Head: head, CacheDir: cache, MaxCommits: []int{0, 15, 40}[rng.IntN(3)],
					Merges: gitlog.Merges(rng.IntN(3))}
				got := open(t, r.dir, o)
				o.CacheDir = ""
				want := open(t, r.dir, o)
				if d := cmp.Diff(say(want), say(got)); d != "" {
					t.Fatalf("at %s with %+v the cache changes what is said (-without +with):\n%s", head, o, d)
				}
				if d := cmp.Diff(gitLog(r, o), ids(got)); d != "" {
					t.Fatalf("at %s with %+v these are other commits than git's (-git +got):\n%s", head, o, d)
				}
			}
		})
	}
}

func ids(l *gitlog.Log) []string {
	out := []string{}
	for _, c := range l.Commits() {
		out = append(out, c.ID)
	}
	return out
}

// gitLog returns the commits that git lists, in git's order.
func gitLog(r *repo, o gitlog.Options) []string {
	args := []string{"log", "--format=%H %P"}
	if o.MaxCommits > 0 {
		args = append(args, fmt.Sprintf("-n%d", o.MaxCommits))
	}
	if o.Merges == gitlog.FirstParent {
		args = append(args, "--first-parent")
	}
	out := []string{}
	for line := range strings.Lines(r.git(append(args, o.Head)...)) {
		f := strings.Fields(line)
		if o.Merges == gitlog.WithoutMerges && len(f) > 2 {
			continue
		}
		out = append(out, f[0])
	}
	return out
}

// TestNothingNewerLeaks looks for newer paths, words and commits everywhere.
func TestNothingNewerLeaks(t *testing.T) {
	r := newRepo(t)
	r.commit("old words here", files{"old.go": "1"})
	head := r.commit("more old words", files{"old.go": "2", "kept.go": "1"})
	r.commit("secretword of the future", files{"future.go": "1"})
	r.git("mv", "old.go", "renamedlater.go")
	r.commit("secretword moves", nil)
	r.commit("secretword deletes", files{"kept.go": ""})
	cache := t.TempDir()
	if n := open(t, r.dir, gitlog.Options{CacheDir: cache}).Len(); n != 5 {
		t.Fatalf("the whole log has %d commits, want 5", n)
	}
	l := open(t, r.dir, gitlog.Options{CacheDir: cache, Head: head})
	if got := l.Status(); got.Read != 0 || got.Cached != 5 || got.Cache != "" {
		t.Fatalf("the cache was not used: %+v", got)
	}
	if d := cmp.Diff([]string{"kept.go", "old.go"}, slices.Sorted(slices.Values(l.Files()))); d != "" {
		t.Error("files (-want +got):\n" + d)
	}
	for _, path := range []string{"future.go", "renamedlater.go"} {
		if _, ok := l.File(path); ok {
			t.Errorf("%s is known before it was there", path)
		}
	}
	if slices.Contains(l.Deleted(), true) {
		t.Error("a file is gone before it was removed")
	}
	if got := l.Search([]string{"secretword"}, 10, gitlog.Params{}); len(got) > 0 {
		t.Errorf("a word of the future finds %v", got)
	}
	// The frequency of a word must not depend on later commits either.
	cold := open(t, r.dir, gitlog.Options{Head: head})
	words := []string{"old", "words", "more"}
	if d := cmp.Diff(cold.Search(words, 10, gitlog.Params{}), l.Search(words, 10, gitlog.Params{})); d != "" {
		t.Error("scores (-without cache +with):\n" + d)
	}
}
