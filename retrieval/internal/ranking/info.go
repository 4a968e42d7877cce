package ranking

import (
	"math"
	"path"
	"strings"

	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
	"github.com/luthier-dev/luthier/retrieval/internal/words"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// Info is what is known of a file besides its words.
type Info struct {
	Path  string
	Class worktree.Class
	Lines int
	Main  float32 // share of the tree's code that is in the file's language

	Log    gitlog.FileID // its number in the log
	Logged bool          // the log knows it
	Churn  float32       // how often it changed, from 0 to 1 for the file that did most
	Recent float32       // 1 when the last commit changed it, falling with the commits since
}

// notCode reports a file that nobody changes to mend a program.
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

// declares reports a file that declares what another one defines: a header, a stub.
func (f *Info) declares() bool {
	switch path.Ext(f.Path) {
	case ".h", ".hpp", ".hh", ".pyi":
		return true
	}
	return strings.HasSuffix(f.Path, ".d.ts") || strings.HasSuffix(f.Path, ".d.cts") || strings.HasSuffix(f.Path, ".d.mts")
}

// gathers reports a file that stands for its directory.
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

// Shares tells what part of a tree's code each ending of a name has.
type Shares map[string]float32

// SharesOf sums the tables of a tree.
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

// A Log is a history as the ranking wants it. Make it once for each.
type Log struct {
	*gitlog.Log
	churn []uint32
	most  float64
}

// NewLog prepares a history; nil gives nil.
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

// Set fills in what the log says of each file. A nil Log says nothing.
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
