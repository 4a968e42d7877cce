package codestore

import (
	"sort"

	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// A plan is the next state under construction: the documents of existing segments that stay alive,
// and the files to build.
type plan struct {
	kept  []*kept
	build []worktree.File // to be built, in any order until sorted
}

// kept is a segment, with those of its documents that stay alive.
type kept struct {
	seg     *Segment
	live    bitmap
	states  []byte // of all documents, if any of them differs from the segment's
	adopted bool   // found on disk but in no manifest
}

func newPlan(base *state) *plan {
	p := &plan{}
	for _, seg := range base.segments {
		p.kept = append(p.kept, &kept{seg: seg, live: newBitmap(seg.file.docs)})
	}
	return p
}

// keepAll keeps every live document.
func (p *plan) keepAll() {
	for _, k := range p.kept {
		for i := range k.seg.file.docs {
			if k.seg.Live(i) {
				k.live.add(i)
			}
		}
	}
}

// ref identifies a document in a plan's segments.
type ref struct {
	seg *kept
	doc int
}

// matchTree keeps the documents whose files look the same as when they were indexed. It returns the
// indexes of the files without a kept document, and the number of documents whose files no longer
// exist.
func (p *plan) matchTree(files []worktree.File) (open []int, removed int) {
	known := newBitmap(len(files))
	for _, k := range p.kept {
		at := 0
		for i := range k.seg.file.docs {
			if !k.seg.Live(i) {
				continue
			}
			path := k.seg.file.path(i)
			at = seek(files, at, path)
			if at == len(files) || files[at].Path != string(path) {
				removed++
				continue
			}
			if d := k.recorded(i); !known.has(at) && d.Fresh(&files[at]) {
				known.add(at)
				k.live.add(i)
			}
		}
	}
	for i := range files {
		if !known.has(i) {
			open = append(open, i)
		}
	}
	return open, removed
}

// seek returns the first index at or after the parameter at whose path is not before the parameter
// path. It tries positions close to at first.
func seek(files []worktree.File, at int, path []byte) int {
	step := 1
	for at+step < len(files) && files[at+step].Path < string(path) {
		at += step
		step *= 2
	}
	end := min(at+step, len(files))
	return at + sort.Search(end-at, func(i int) bool { return files[at+i].Path >= string(path) })
}

// recorded returns the recorded state of document i, without its path.
func (k *kept) recorded(i int) worktree.File {
	f := worktree.File{Size: k.seg.file.size(i)}
	readState(k.seg.stateOf(i), &f)
	return f
}

// candidates returns the documents with the path of f, alive or dead: a file may have got back an
// earlier content.
func (p *plan) candidates(f *worktree.File) []ref {
	var refs []ref
	for _, k := range p.kept {
		if i, ok := k.seg.file.find(f.Path); ok {
			refs = append(refs, ref{k, i})
		}
	}
	return refs
}

// keep keeps a document whose file is now f.
func (r ref) keep(f *worktree.File) {
	r.seg.live.add(r.doc)
	state := appendState(nil, f)
	if string(state) == string(r.seg.stateOf(r.doc)) {
		return
	}
	if r.seg.states == nil {
		r.seg.states = make([]byte, 0, stateSize*r.seg.seg.file.docs)
		for i := range r.seg.seg.file.docs {
			r.seg.states = append(r.seg.states, r.seg.seg.stateOf(i)...)
		}
	}
	copy(r.seg.states[r.doc*stateSize:], state)
}

func (k *kept) stateOf(i int) []byte {
	if k.states != nil {
		return k.states[i*stateSize : (i+1)*stateSize]
	}
	return k.seg.stateOf(i)
}

// source returns the source size of the kept documents in bytes.
func (k *kept) source() (n int64) {
	for i := range k.seg.file.docs {
		if k.live.has(i) {
			n += k.seg.file.size(i)
		}
	}
	return n
}

// fold moves the kept documents of k to the files to build.
func (p *plan) fold(k *kept) (docs int) {
	for i := range k.seg.file.docs {
		if k.live.has(i) {
			p.build = append(p.build, k.seg.Doc(i).File)
			docs++
		}
	}
	clear(k.live)
	return docs
}

const (
	manySegments = 8         // up to this number, small segments are left alone
	smallShare   = 32        // a segment below this part of Options.SegmentBytes is small to Sync
	tinySegment  = 256 << 10 // a segment with less source than this is small to Update
)

// isSmall reports whether a segment with the given numbers of documents and of bytes of source
// should be joined with others; a segment is small below limit bytes. A segment with many tiny
// files counts as full because of their number.
func isSmall(docs int, source, limit int64) bool {
	return docs < maxBatchDocs/smallShare && source < limit
}

// foldSmall folds the segments with less than limit bytes of source if there are many of them.
func (p *plan) foldSmall(limit int64) (docs int) {
	var small []*kept
	for _, k := range p.kept {
		if n := k.live.count(); n > 0 && isSmall(n, k.source(), limit) {
			small = append(small, k)
		}
	}
	if len(small) < manySegments {
		return 0
	}
	for _, k := range small {
		docs += p.fold(k)
	}
	return docs
}

// foldSparse folds the segments in which more than half of the documents are dead.
func (p *plan) foldSparse() (docs int) {
	for _, k := range p.kept {
		if n := k.live.count(); n > 0 && k.source() < k.seg.file.source/2 {
			docs += p.fold(k)
		}
	}
	return docs
}

// segments returns the segments of the plan for a new state, and whether they differ from those of
// the old one.
func (p *plan) segments() (segs []*Segment, changed bool) {
	for _, k := range p.kept {
		n := k.live.count()
		if n == 0 {
			changed = true
			continue
		}
		dead := newBitmap(k.seg.file.docs)
		dead.fill(k.seg.file.docs)
		same := n == k.seg.live && k.states == nil && !k.adopted
		for i := range dead {
			dead[i] &^= k.live[i]
			same = same && dead[i] == k.seg.dead[i]
		}
		if same {
			segs = append(segs, k.seg)
			continue
		}
		changed = true
		seg := &Segment{file: k.seg.file, dead: dead, live: n, stat: k.seg.stat, state: k.seg.state}
		if k.states != nil {
			seg.stat, seg.state = "", k.states
		}
		segs = append(segs, seg)
	}
	return segs, changed
}
