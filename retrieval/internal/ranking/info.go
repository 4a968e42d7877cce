package ranking

import (
	"math"
	"path"
	"strings"

	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
	"github.com/luthier-dev/luthier/retrieval/internal/words"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// Info holds a file's metadata other than its words.
type Info struct {
	Path  string
	Class worktree.Class
	Lines int
	Main  float32 // share of the tree's code that is in the file's language

	Log    gitlog.FileID // the file's number in the log
	Logged bool          // the log mentions the file
	Churn  float32       // how often the file changed, relative to the most frequently changed file
	Recent float32       // 1 if the last commit changed the file, decreasing with the number of commits since the last change
}

// notCode reports whether a file is of a kind that nobody changes to fix a program.
func (f *Info) notCode() bool {
	if f.Class.Any(worktree.Config | worktree.Data) {
		return true
	}
	switch words.LangOf(f.Path) {
	case words.Prose, words.Data, words.Plain, words.Markup, words.Style:
		return true
	}
	return false
}

// declares reports whether a file only declares what another file defines: a header, a stub.
func (f *Info) declares() bool {
	switch path.Ext(f.Path) {
	case ".h", ".hpp", ".hh", ".pyi":
		return true
	}
	return strings.HasSuffix(f.Path, ".d.ts") || strings.HasSuffix(f.Path, ".d.cts") || strings.HasSuffix(f.Path, ".d.mts")
}

// gathers reports whether a file stands for its directory.
func (f *Info) gathers() bool {
	switch stemOf(f.Path) {
	case "__init__", "mod", "index", "lib", "setup", "main":
		return true
	}
	return false
}

func stemOf(p string) string {
	base := path.Base(p)
	if i := strings.LastIndexByte(base, '.'); i > 0 {
		base = base[:i]
	}
	return strings.ToLower(base)
}

// Shares maps each file extension to its share of a tree's code.
type Shares map[string]float32

// SharesOf adds up the metadata tables of a tree.
func SharesOf(tables ...[]Info) Shares {
	s := Shares{}
	total := float32(0)
	for _, t := range tables {
		for i := range t {
			if !t[i].notCode() {
				s[path.Ext(t[i].Path)] += float32(t[i].Lines)
				total += float32(t[i].Lines)
			}
		}
	}
	for ext := range s {
		s[ext] /= max(total, 1)
	}
	return s
}

// Set fills in Main.
func (s Shares) Set(table []Info) {
	for i := range table {
		table[i].Main = s[path.Ext(table[i].Path)]
	}
}

// A Log is a history prepared for the ranking. It should be made only once for each history.
type Log struct {
	*gitlog.Log
	churn []uint32
	most  float64
}

// NewLog prepares a history. For nil it returns nil.
func NewLog(l *gitlog.Log) *Log {
	if l == nil || l.Len() == 0 {
		return nil
	}
	out := &Log{Log: l, churn: l.Churn()}
	deleted := l.Deleted()
	for i, n := range out.churn {
		if !deleted[i] {
			out.most = max(out.most, float64(n))
		}
	}
	l.Prepare()
	return out
}

// Set fills in the log's data about each file. A nil Log changes nothing.
func (l *Log) Set(table []Info) {
	for i := range table {
		f := &table[i]
		f.Logged, f.Churn, f.Recent = false, 0, 0
		if l == nil {
			continue
		}
		if f.Log, f.Logged = l.File(f.Path); !f.Logged {
			continue
		}
		f.Churn = min(float32(math.Log1p(float64(l.churn[f.Log]))/math.Log1p(max(l.most, 1))), 1)
		if c := l.CommitsOf(f.Log); len(c) > 0 {
			f.Recent = 1 / (1 + float32(c[0])/100)
		}
	}
}
