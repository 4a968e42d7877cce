package gitlog

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Merges says which commits of a history count.
type Merges uint8

const (
	// WithoutMerges takes every commit but merges.
	WithoutMerges Merges = iota
	// FirstParent takes the chain of first parents, a merge standing for what it
	// brought: one entry a pull request where they are merged.
	FirstParent
	// WithMerges takes every commit; what a merge brought is counted twice, under
	// the titles of both.
	WithMerges
)

// Options says what [Open] reads. The zero value is of use.
type Options struct {
	// CacheDir keeps what was read, one file a repository; empty keeps nothing. A
	// directory that cannot be written costs the cache only.
	CacheDir string
	// Head is the commit whose ancestors count: a hash, the beginning of one, a branch
	// or a tag. Empty means HEAD.
	Head string
	// GitDir is the repository's directory where it is not to be looked for from the
	// work tree upwards. Paths are then relative to the repository's root.
	GitDir string
	// Git is the program; empty looks for "git".
	Git string
	// NoGit reads by go-git even where the program is there.
	NoGit bool
	// Timeout bounds reading; zero means two minutes by git and ten seconds by go-git,
	// which is slower. What was read by then counts, and the next Open goes on from
	// there if there is a cache.
	Timeout time.Duration
	// MaxCommits bounds how many commits count, newest first; zero means 20,000.
	MaxCommits int
	// MaxFiles is the number of files beyond which a commit says nothing of them; zero
	// means 60. Renames in larger ones are followed all the same.
	MaxFiles int
	// Merges says which commits count.
	Merges Merges
	// Tokenizer makes words of messages; nil means [Words]. Queries must be made by it
	// too.
	Tokenizer func(string) []string
	// TokenizerKey names the tokenizer and its version. With it words are kept in the
	// cache; a change of what the tokenizer does without a change of the key is not seen.
	TokenizerKey string
	// Progress, if set, is told how many commits were read, from time to time.
	Progress func(commits int)
}

const (
	defaultMaxCommits = 20_000
	defaultMaxFiles   = 60
	defaultGitTime    = 2 * time.Minute
	defaultGoGitTime  = 10 * time.Second
)

func (o Options) withDefaults() (Options, error) {
	if o.MaxCommits < 0 || o.MaxFiles < 0 || o.Timeout < 0 {
		return o, errors.New("limits must not be negative: use zero for the default")
	}
	if o.Merges > WithMerges {
		return o, fmt.Errorf("merges %d is none of WithoutMerges, FirstParent and WithMerges", o.Merges)
	}
	if strings.HasPrefix(o.Head, "-") || strings.ContainsAny(o.Head, "\x00\n") {
		return o, fmt.Errorf("head %q is no name of a commit", o.Head)
	}
	o.MaxCommits = orDefault(o.MaxCommits, defaultMaxCommits)
	o.MaxCommits = min(o.MaxCommits, maxCommits)
	o.MaxFiles = min(orDefault(o.MaxFiles, defaultMaxFiles), maxKeptChanges)
	if o.Tokenizer == nil {
		o.Tokenizer, o.TokenizerKey = Words, wordsKey
	}
	return o, nil
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
