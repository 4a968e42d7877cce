package gitlog

// walk goes from a head to older commits in the order of git log, newest first, and returns at most
// n as live. The result lacking lists parents that are not in the store but belong before the last
// of these. The walk continues without them, so only the first commits of live, as many as the
// result certain, are guaranteed to be correct.
func (s *store) walk(head int32, n int, firstParent bool) (live, lacking []int32, certain int) {
	w := walker{s: s, seen: make([]bool, len(s.commits)), seenMissing: make([]bool, len(s.missing))}
	w.push(head, 0)
	for len(w.heap) > 0 && len(live) < n {
		top := w.pop()
		if top.ref < 0 {
			if s.missing[^top.ref].bound != never {
				if len(lacking) == 0 {
					certain = len(live)
				}
				lacking = append(lacking, ^top.ref)
			}
			continue
		}
		live = append(live, top.ref)
		t := s.commits[top.ref].time
		parents := s.parentsOf(top.ref)
		if firstParent && len(parents) > 1 {
			parents = parents[:1]
		}
		for _, p := range parents {
			w.push(p, t)
		}
	}
	return live, lacking, certain
}

// walker is a queue of commits ordered by time, and by order of arrival if times are equal.
type walker struct {
	s           *store
	seen        []bool
	seenMissing []bool
	heap        []queued
	arrivals    int32
}

type queued struct {
	time  int64
	order int32
	ref   int32
}

func (a queued) before(b queued) bool {
	if a.time != b.time {
		return a.time > b.time
	}
	return a.order < b.order
}

// push adds a parent of a commit that has the given time.
func (w *walker) push(ref int32, childTime int64) {
	if ref < 0 {
		if m := w.s.missing[^ref]; m.at >= 0 {
			ref = m.at
		}
	}
	q := queued{ref: ref, order: w.arrivals}
	if ref >= 0 {
		if w.seen[ref] {
			return
		}
		w.seen[ref] = true
		q.time = w.s.commits[ref].time
	} else {
		if w.seenMissing[^ref] {
			return
		}
		w.seenMissing[^ref] = true
		q.time = min(w.s.missing[^ref].bound, childTime)
	}
	w.arrivals++
	w.heap = append(w.heap, q)
	h := w.heap
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(h[up]) {
			break
		}
		h[i], h[up], i = h[up], h[i], up
	}
}

func (w *walker) pop() queued {
	h := w.heap
	top, last := h[0], len(h)-1
	h[0] = h[last]
	w.heap = h[:last]
	h = w.heap
	for i := 0; ; {
		least, left := i, 2*i+1
		for c := left; c <= left+1 && c < len(h); c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if least == i {
			return top
		}
		h[i], h[least], i = h[least], h[i], least
	}
}
