package codestore

import (
	"context"
	"runtime"

	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// A Doc is one file in the state in which it was indexed.
type Doc struct {
	worktree.File
	Hash worktree.Hash // of the content
}

// A Section is a named part of a segment.
type Section struct {
	Name string
	Data []byte
}

// A Format describes the sections that the caller keeps in segments.
type Format struct {
	Name    string
	Version uint32 // segments of another version are built again
	// Build makes the sections of one segment. The documents are numbered as in docs, which is
	// sorted by path. The function read returns the content of document i, which is in memory
	// already and must not be changed or kept. Several calls run at the same time.
	Build func(ctx context.Context, docs []Doc, read func(i int) ([]byte, error)) ([]Section, error)
}

// Options of a store. The zero value is a sensible default.
type Options struct {
	Workers      int   // concurrent builds; 0 means GOMAXPROCS, or fewer if Memory requires it
	SegmentBytes int64 // maximum source per segment (one file may be larger); 0 means 16 MiB
	Memory       int64 // approximate memory that Sync may use, counting four times the source that is being built; 0 means 512 MiB
	MaxFileSize  int64 // a file that has grown beyond this size since the scan is left out; 0 means worktree.DefaultMaxFileSize
	NoMap        bool  // read segments into memory instead of mapping them
	NoFsync      bool  // do not wait for the disk
	// Tree is the tree whose files are read; nil means the directory that Sync and Update get.
	Tree worktree.Lent
	// SharesFiles keeps the states that a base has recorded, see [OpenOver]: the tree is an
	// overlay, and most of its files are those that the base has indexed.
	SharesFiles bool

	step   func(point string) // called before each change of the directory, for tests
	mapAll bool               // map small segments too, for tests
}

const (
	defaultSegmentBytes = 16 << 20
	defaultMemory       = 512 << 20
	buildFactor         = 4       // memory of a build as a multiple of its source, for Options.Memory
	leastShare          = 8 << 20 // fewer workers run if each would get less source than this
)

func (o Options) withDefaults() Options {
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = defaultSegmentBytes
	}
	if o.Memory <= 0 {
		o.Memory = defaultMemory
	}
	if o.MaxFileSize <= 0 {
		o.MaxFileSize = worktree.DefaultMaxFileSize
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	o.Workers = int(max(1, min(int64(o.Workers), o.Memory/(buildFactor*leastShare))))
	o.SegmentBytes = min(o.SegmentBytes, max(1<<20, o.Memory/int64(buildFactor*o.Workers)))
	if o.step == nil {
		o.step = func(string) {}
	}
	return o
}

// A Report describes what a Sync or Update did. Counts are of documents unless they say otherwise.
type Report struct {
	Unchanged int // recognised by size, times and inode
	Rehashed  int // read, and found to have the same content
	Built     int
	Removed   int             // no longer in the tree, or no longer indexed
	Folded    int             // built again only to join small segments or to drop dead documents
	Adopted   int             // reused from a segment that an interrupted run had finished
	Skipped   []worktree.File // in the tree but not indexed: gone or changed into something else since the scan, unreadable

	Segments      int // in the index now
	SegmentsBuilt int
	BytesRead     int64

	Rebuilt string // the reason why an earlier index was not used completely; "" if it was
	Memory  string // the reason why nothing is kept on disk; "" if the store is on disk
}

// Progress describes the progress of a Sync.
type Progress struct {
	Stage      string // "compare" or "build"
	Files      int    // files done
	TotalFiles int
	Bytes      int64 // of source done
	TotalBytes int64
}
