package gitlog

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Merges selects which commits of a history count.
type Merges uint8

const (
	// WithoutMerges counts every commit except merges.
	WithoutMerges Merges = iota
	// FirstParent counts the chain of first parents. Each merge in it stands for the changes that
	// it merged, so a history of merged pull requests has one entry per pull request.
	FirstParent
	// WithMerges counts every commit; the changes of a merge count twice, under both titles.
	WithMerges
)

// Options select what [Open] reads. The zero value is usable.
type Options struct {
	// CacheDir is the directory where the read commits are kept, one file per repository. If it is
	// empty or not writable, nothing is kept.
	CacheDir string
	// Head is the commit whose ancestors count: a hash, an abbreviated hash, a branch or a tag.
	// Empty means HEAD.
	Head string
	// GitDir is the repository's directory, or its work tree. If it is empty, the repository is
	// searched for from the work tree upwards. With GitDir, paths are relative to the repository's
	// root.
	GitDir string
	// Git is the git program; empty means "git" in the search path.
	Git string
	// NoGit reads with go-git even if the git program is available.
	NoGit bool
	// Timeout limits the time for reading; zero means two minutes with git and ten seconds with
	// go-git, which is slower. The commits read until then count, and the next Open continues from
	// there if there is a cache.
	Timeout time.Duration
	// MaxCommits limits the number of commits that count, newest first; zero means 20,000.
	MaxCommits int
	// MaxFiles is the largest number of changed files with which a commit still counts for its
	// files; zero means 60. Renames are followed in larger commits too.
	MaxFiles int
	// Merges selects which commits count.
	Merges Merges
	// Tokenizer splits messages into words; nil means [Words]. Queries must be split by the same
	// function.
	Tokenizer func(string) []string
	// TokenizerKey identifies the tokenizer and its version. If it is set, words are kept in the
	// cache. If the tokenizer changes without a change of the key, outdated words are used.
	TokenizerKey string
	// Progress, if set, is called from time to time with the number of commits read.
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
