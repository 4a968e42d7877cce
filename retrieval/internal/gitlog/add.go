package gitlog

import "encoding/binary"

// adder adds commits to a store as they are read.
type adder struct {
	s        *store
	at       map[string]int32
	first    int // index of the first commit added
	firstP   int
	firstM   int
	pending  []pendingParents
	unread   bool // the changes of some commit could not be read
	tokenize func(string) []string
	buf      []byte
}

// pendingParents holds the ids of a commit's parents, which may be read later.
type pendingParents struct{ ids []string }

func (s *store) adder(tokenize func(string) []string) *adder {
	a := &adder{s: s, at: make(map[string]int32, len(s.commits)), first: len(s.commits), firstP: len(s.paths),
		firstM: len(s.missing), tokenize: tokenize}
	for i := range s.commits {
		a.at[s.commits[i].id] = int32(i)
	}
	return a
}

// Has reports whether a commit is in the store.
func (a *adder) Has(id string) bool { _, ok := a.at[id]; return ok }

// Len returns the number of added commits.
func (a *adder) Len() int { return len(a.s.commits) - a.first }

// Add adds a commit, unless the store has it.
func (a *adder) Add(c *rawCommit) {
	if a.Has(c.id) || len(a.s.commits) >= maxCommits {
		return
	}
	a.at[c.id] = int32(len(a.s.commits))
	a.unread = a.unread || c.unread
	e := entry{id: c.id, time: c.time}
	e.subject, e.body = cleanMessage(c.message)
	renames, changes := pairRenames(c.changes)
	e.files = uint32(len(renames) + len(changes) + c.more)
	if c.boundary {
		renames, changes, e.files = nil, nil, 0
	}
	e.changes = a.encodeChanges(renames, changes)
	a.s.commits = append(a.s.commits, e)
	a.pending = append(a.pending, pendingParents{c.parents})
	if a.tokenize != nil {
		a.s.words.add(e.subject, e.body, a.tokenize)
	}
}

// The low bits of an encoded change.
const (
	changeModify = iota
	changeAdd
	changeDelete
	changeRename // followed by the old path
	changeBits   = 2
)

func (a *adder) encodeChanges(renames []rename, changes []rawChange) string {
	b := a.buf[:0]
	for _, r := range renames {
		b = binary.AppendUvarint(b, uint64(a.s.path(r.to))<<changeBits|changeRename)
		b = binary.AppendUvarint(b, uint64(a.s.path(r.from)))
	}
	large := len(renames)+len(changes) > maxKeptChanges
	for _, c := range changes {
		kind := uint64(changeModify)
		switch c.status {
		case 'A':
			kind = changeAdd
		case 'D':
			kind = changeDelete
		}
		if large && kind != changeDelete {
			continue // only the rename matters, not the change
		}
		b = binary.AppendUvarint(b, uint64(a.s.path(c.path))<<changeBits|kind)
	}
	a.buf = b
	return string(b)
}

// Finish links the commits to their parents. If limited is true, reading stopped at the maximum
// number of commits; limit is then the time of the last commit that was read, and parents that were
// not read are no newer.
func (a *adder) Finish(limited bool, limit int64) {
	for i, p := range a.pending {
		e := &a.s.commits[a.first+i]
		bound := e.time
		if limited {
			bound = min(bound, limit)
		}
		a.s.setParents(e, p.ids, func(id string) (int32, bool) { at, ok := a.at[id]; return at, ok }, bound)
	}
	for i := range a.pending {
		at := a.first + i
		a.s.arrived(a.s.commits[at].id, int32(at))
	}
	a.pending = nil
}

func (s *store) setParents(e *entry, ids []string, at func(string) (int32, bool), bound int64) {
	e.parentAt, e.nParents = uint32(len(s.parents)), uint32(len(ids))
	for _, id := range ids {
		ref, ok := at(id)
		if !ok {
			ref = s.lack(id, bound)
		}
		s.parents = append(s.parents, ref)
	}
}

// eachChange decodes the changes of a commit. It stops at invalid bytes.
func (s *store) eachChange(e *entry, yield func(kind int, path, from uint32)) {
	for b := e.changes; len(b) > 0; {
		v, n := uvarint(b)
		if n <= 0 || v>>changeBits >= uint64(len(s.paths)) {
			return
		}
		b = b[n:]
		kind, p, from := int(v&(1<<changeBits-1)), uint32(v>>changeBits), uint32(0)
		if kind == changeRename {
			f, n := uvarint(b)
			if n <= 0 || f >= uint64(len(s.paths)) {
				return
			}
			b, from = b[n:], uint32(f)
		}
		yield(kind, p, from)
	}
}

// uvarint is binary.Uvarint for a string.
func uvarint(s string) (v uint64, n int) {
	for i := 0; i < len(s) && i < binary.MaxVarintLen64; i++ {
		b := s[i]
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}
