package retrieval

import (
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
)

// Status describes the coverage of an Index: the indexed files, the missing ones, and the reasons.
type Status struct {
	Dir, CacheDir string

	Files   int   // number of files worth indexing, according to the last scan of the tree
	Bytes   int64 // total size of these files
	Skipped []SkippedFile
	Layers  []LayerStatus

	Embedding *EmbeddingStatus // nil without an Embedder

	History string // description of how much of the git log is used, or why none is
	Commits int
	Watch   string // "off", "on", or the reason why some changes are not noticed
	Err     error  // error of the first indexing
}

// SkippedFile is a file that is not indexed. Files that git ignores are not listed.
type SkippedFile struct {
	Path   string // for files of tools, such as node_modules, their directory
	Reason string // such as "binary" or "too large"
}

// LayerStatus is the state of one of the indexes.
type LayerStatus struct {
	Name     string // "index" (of words), "trigrams", "symbols"
	Ready    bool
	Files    int // number of indexed files
	Segments int
	Bytes    int64  // size of the index
	Rebuilt  string // reason why an earlier index could not be used; "" if it could
	InMemory string // reason why nothing is kept on disk; "" if the index is on disk
	Err      error  // from the last attempt to update it
}

// EmbeddingStatus describes the progress of an Embedder's vectors.
type EmbeddingStatus struct {
	Model   string // the Embedder's name
	Chunks  int    // number of chunks when vectors were last made
	Missing int    // chunks without a vector, which are found only by their words
	// Err is the Embedder's last failure, or the reason why chunks were left out. It is nil once
	// the Embedder works again. Until then, searches do not use vectors.
	Err error
}

func (s *EmbeddingStatus) String() string {
	text := fmt.Sprintf("%s, %d chunks", s.Model, s.Chunks)
	if s.Missing > 0 {
		text += fmt.Sprintf(", %d without a vector", s.Missing)
	}
	if s.Err != nil {
		text += "; " + s.Err.Error()
	}
	return text
}

// Status reports the files that are indexed and those that are not, with the reasons. It costs
// almost nothing.
func (x *Index) Status() Status {
	s := Status{Dir: x.dir, CacheDir: x.home, Watch: "off", History: "not read yet"}
	if t := x.tree.Load(); t != nil {
		s.Files, s.Bytes = len(t.Files), t.Bytes
		for i := range t.Skipped {
			s.Skipped = append(s.Skipped, SkippedFile{t.Skipped[i].Path, t.Skipped[i].Skip.String()})
		}
	}
	for _, l := range x.layers() {
		s.Layers = append(s.Layers, l.status())
	}
	if x.embedding != nil {
		s.Embedding = x.embedding.status()
	}
	if h := x.logState.Load(); h != nil {
		s.Commits, s.History = h.Commits, historyInWords(h)
	} else if x.cfg.NoHistory {
		s.History = "off"
	} else if x.lent != nil && x.cfg.GitDir == "" {
		s.History = "off: commands may have written the tree's own .git; set Config.GitDir to the repository of the origin"
	}
	if w := x.watching.Load(); w != nil {
		if s.Watch = *w; *w == "" {
			s.Watch = "on"
		}
	}
	if e := x.failed.Load(); e != nil {
		s.Err = *e
	}
	return s
}

func (l *layer) status() LayerStatus {
	l.mu.Lock()
	s := LayerStatus{
		Name: l.stage, Ready: l.usable, Segments: l.report.Segments,
		Rebuilt: l.report.Rebuilt, InMemory: l.report.Memory, Err: l.err,
	}
	l.mu.Unlock()
	if v, err := l.store.View(); err == nil {
		s.Files = v.Docs()
		for _, seg := range v.Segments() {
			s.Bytes += seg.Size()
		}
		v.Close()
	}
	return s
}

func historyInWords(h *gitlog.Status) string {
	var parts []string
	switch h.State {
	case gitlog.Ready:
		parts = append(parts, fmt.Sprintf("%d commits", h.Commits))
	default:
		parts = append(parts, h.State.String())
		if h.Commits > 0 {
			parts = append(parts, fmt.Sprintf("%d commits could be read", h.Commits))
		}
	}
	for _, p := range []struct {
		is   bool
		text string
	}{{h.Limited, "older ones are left out"}, {h.Shallow, "shallow clone"}, {h.GoGit, "read without the git program"}} {
		if p.is {
			parts = append(parts, p.text)
		}
	}
	if h.Reason != "" {
		parts = append(parts, h.Reason)
	}
	return strings.Join(parts, "; ")
}

// String returns the status in a few lines.
func (s Status) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d files, %.1f MB; %d skipped\n", s.Dir, s.Files, float64(s.Bytes)/1e6, len(s.Skipped))
	for _, l := range s.Layers {
		state := "being made"
		switch {
		case l.Err != nil:
			state = l.Err.Error()
		case l.Ready:
			state = "ready"
		}
		fmt.Fprintf(&b, "%-9s %s, %d files, %.1f MB", l.Name, state, l.Files, float64(l.Bytes)/1e6)
		for _, note := range []string{l.Rebuilt, l.InMemory} {
			if note != "" {
				b.WriteString("; " + note)
			}
		}
		b.WriteByte('\n')
	}
	if s.Embedding != nil {
		fmt.Fprintf(&b, "vectors   %v\n", s.Embedding)
	}
	fmt.Fprintf(&b, "history   %s\nwatching  %s\n", s.History, s.Watch)
	if s.Err != nil {
		fmt.Fprintf(&b, "failed    %v\n", s.Err)
	}
	return b.String()
}
