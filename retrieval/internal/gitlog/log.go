package gitlog

import (
	"encoding/hex"
	"iter"
	"sync"
	"time"
)

// FileID numbers the files that a log names, from zero.
type FileID uint32

// Log holds the ancestors of one commit: their messages and the files that they changed. A Log may
// be used by several goroutines at once, and the values that it returns must not be changed.
type Log struct {
	opts   Options
	status Status
	store  *store

	// commits are indices into the store, newest first. The files of the i-th commit are
	// filesOf[fileAt[i]:fileAt[i+1]].
	commits []int32
	fileAt  []uint32
	filesOf []FileID

	files   []string
	deleted []bool
	alias   []FileID // indexed by path of the store: the number of its file plus one

	paths   func() map[string]FileID
	byFile  func() fileCommits
	message func() *messageIndex
	texts   func() fileTexts
	scores  sync.Pool // of *[]float32
}

func newLog(opts Options) *Log {
	l := &Log{opts: opts, store: newStore(20, ""), fileAt: []uint32{0}}
	l.paths = sync.OnceValue(l.buildPaths)
	l.byFile = sync.OnceValue(l.buildByFile)
	l.message = sync.OnceValue(l.buildIndex)
	l.texts = sync.OnceValue(l.buildTexts)
	return l
}

// Commit is a commit that counts.
type Commit struct {
	// ID is the hash in hex.
	ID   string
	Time time.Time
	// Subject and Body are the message without trailers, and without the text that git generates
	// for a merge; the body is cut at 2 KiB.
	Subject, Body string
	// Files are the files it changed, by the names that they have at the head; none if there were
	// more than [Options.MaxFiles].
	Files []FileID
	// Changed is the total number of files it changed.
	Changed int
	Merge   bool
}

// Status describes how the log was read, and any problems with it.
func (l *Log) Status() Status { return l.status }

// Len returns the number of commits that count.
func (l *Log) Len() int { return len(l.commits) }

// Commit returns the i-th commit; 0 is the newest.
func (l *Log) Commit(i int) Commit {
	e := &l.store.commits[l.commits[i]]
	return Commit{
		ID:   hex.EncodeToString([]byte(e.id)),
		Time: time.Unix(e.time, 0).UTC(), Subject: e.subject, Body: e.body,
		Files: l.filesOf[l.fileAt[i]:l.fileAt[i+1]:l.fileAt[i+1]], Changed: int(e.files), Merge: e.merge(),
	}
}

// Commits yields the commits that count, newest first.
func (l *Log) Commits() iter.Seq2[int, Commit] {
	return func(yield func(int, Commit) bool) {
		for i := range l.commits {
			if !yield(i, l.Commit(i)) {
				return
			}
		}
	}
}

// Files returns the paths of the files by number, with their names at the head, relative to the
// directory that was opened and with slashes. Some may be deleted, see [Log.Deleted]; files that no
// commit names are not included.
func (l *Log) Files() []string { return l.files }

// Deleted reports for each file whether the last commit that names it removed it.
func (l *Log) Deleted() []bool { return l.deleted }

// File returns the number of a file by its current path or an earlier one.
func (l *Log) File(path string) (FileID, bool) {
	id, ok := l.paths()[path]
	return id, ok
}

func (l *Log) buildPaths() map[string]FileID {
	m := make(map[string]FileID, len(l.files))
	for p, a := range l.alias {
		if path, ok := l.local(l.store.paths[p]); ok && a > 0 {
			m[path] = a - 1
		}
	}
	for id, path := range l.files { // current names take precedence over earlier ones
		m[path] = FileID(id)
	}
	return m
}

// local returns a path relative to the directory that was opened.
func (l *Log) local(path string) (string, bool) {
	n := len(l.status.Prefix)
	if n > len(path) || path[:n] != l.status.Prefix {
		return "", false
	}
	return path[n:], true
}
