package gitlog

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// encodeBatch encodes the paths and commits whose indexes are at least firstPath and firstCommit. A
// parent is encoded as its index plus one; or, if it is missing, as zero, followed by its hash and
// the newest time that it can have.
func encodeBatch(s *store, firstPath, firstCommit int) []byte {
	b := binary.AppendUvarint(nil, uint64(len(s.paths)-firstPath))
	last := ""
	for _, p := range s.paths[firstPath:] {
		n := commonPrefix(last, p)
		b = binary.AppendUvarint(b, uint64(n))
		b = appendText(b, p[n:])
		last = p
	}
	b = binary.AppendUvarint(b, uint64(len(s.commits)-firstCommit))
	for i := firstCommit; i < len(s.commits); i++ {
		e := &s.commits[i]
		b = append(b, e.id...)
		b = binary.AppendVarint(b, e.time)
		b = binary.AppendUvarint(b, uint64(e.files))
		b = binary.AppendUvarint(b, uint64(e.nParents))
		for _, p := range s.parentsOf(int32(i)) {
			if p >= 0 {
				b = binary.AppendUvarint(b, uint64(p)+1)
				continue
			}
			b = append(b, 0)
			b = append(b, s.missing[^p].id...)
			b = binary.AppendVarint(b, s.missing[^p].bound)
		}
		b = appendText(b, e.subject)
		b = appendText(b, e.body)
		b = appendText(b, e.changes)
	}
	return b
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func (d *decoder) batch(s *store) error {
	d.paths(s)
	n := d.count(s.hashLen + 6)
	first := len(s.commits)
	if first+n > maxCommits {
		return fmt.Errorf("%w: too many commits", errCache)
	}
	s.commits = slices.Grow(s.commits, n)
	for range n {
		e := entry{id: d.bytes(uint64(s.hashLen)), time: d.int(), files: uint32(d.uint())}
		if err := d.parents(s, &e, first+n); err != nil {
			return err
		}
		e.subject, e.body, e.changes = d.text(), d.text(), d.text()
		if d.failed {
			return nil
		}
		s.commits = append(s.commits, e)
	}
	if len(s.lacking) > 0 {
		for i := first; i < len(s.commits); i++ {
			s.arrived(s.commits[i].id, int32(i))
		}
	}
	return nil
}

func (d *decoder) paths(s *store) {
	n := d.count(2)
	s.paths = slices.Grow(s.paths, n)
	last := ""
	for range n {
		shared := d.uint()
		rest := d.text()
		if d.failed || shared > uint64(len(last)) || int(shared)+len(rest) > maxPath {
			d.failed = true
			return
		}
		if shared > 0 {
			rest = last[:shared] + rest
		}
		s.paths = append(s.paths, rest)
		last = rest
	}
}

func (d *decoder) parents(s *store, e *entry, commits int) error {
	n := d.count(1)
	if n > maxParents {
		return fmt.Errorf("%w: a commit of %d parents", errCache, n)
	}
	e.parentAt, e.nParents = uint32(len(s.parents)), uint32(n)
	for range n {
		switch at := d.uint(); {
		case at > uint64(commits):
			return fmt.Errorf("%w: a parent that is not there", errCache)
		case at > 0:
			s.parents = append(s.parents, int32(at-1))
		default:
			id := d.bytes(uint64(s.hashLen))
			bound := d.int()
			if d.failed {
				return nil
			}
			s.parents = append(s.parents, s.lack(id, bound))
		}
	}
	return nil
}

// encodeWords encodes the terms and the commits' words, starting at firstTerm and firstCommit.
func encodeWords(w *wordTable, firstTerm, firstCommit int) []byte {
	b := appendText(nil, w.key)
	b = binary.AppendUvarint(b, uint64(firstCommit))
	b = binary.AppendUvarint(b, uint64(len(w.terms)-firstTerm))
	for _, t := range w.terms[firstTerm:] {
		b = appendText(b, t)
	}
	b = binary.AppendUvarint(b, uint64(len(w.of)-firstCommit))
	for _, blob := range w.of[firstCommit:] {
		b = appendText(b, blob)
	}
	return b
}

// words decodes the part after the key.
func (d *decoder) words(s *store) error {
	w := &s.words
	if first := d.uint(); first != uint64(len(w.of)) {
		return fmt.Errorf("%w: words of commits are missing", errCache)
	}
	n := d.count(1)
	w.terms = slices.Grow(w.terms, n)
	for range n {
		w.terms = append(w.terms, d.text())
	}
	n = d.count(1)
	if len(w.of)+n > len(s.commits) {
		return fmt.Errorf("%w: words of commits that are not there", errCache)
	}
	w.of = slices.Grow(w.of, n)
	for range n {
		w.of = append(w.of, d.text())
	}
	return nil
}
