package gitlog

// messageIndex finds commits by the words of their messages. It contains only the commits that
// count, so that the frequency of a word does not depend on newer commits.
type messageIndex struct {
	terms map[string]uint32 // index into at
	at    []uint32
	// postings hold the commit's number in the bits above the low eight, which hold the word's
	// frequency in that commit.
	postings []uint32
	// subjectLen and bodyLen are the lengths of a message's subject and body in words.
	subjectLen, bodyLen []uint16
	commits             int // commits with files; only these are indexed
	subjects, bodies    uint64
}

func (l *Log) buildIndex() *messageIndex {
	w, of := l.wordsOf()
	x := &messageIndex{subjectLen: make([]uint16, len(l.commits)), bodyLen: make([]uint16, len(l.commits))}
	df := make([]uint32, len(w.terms)+1)
	total := 0
	for i := range l.commits {
		if l.fileAt[i] == l.fileAt[i+1] {
			continue
		}
		x.commits++
		s, b := uint32(0), uint32(0)
		w.each(of(i), func(term uint32, tf byte) {
			df[term]++
			total++
			s += uint32(tf >> bodyBits)
			b += uint32(tf & maxBodyTF)
		})
		x.subjectLen[i], x.bodyLen[i] = uint16(min(s, 1<<16-1)), uint16(min(b, 1<<16-1))
		x.subjects += uint64(s)
		x.bodies += uint64(b)
	}
	x.place(w, df)
	x.postings = make([]uint32, total)
	next := make([]uint32, len(w.terms))
	for t, p := 0, uint32(0); t < len(w.terms); t++ {
		next[t] = p
		p += df[t]
	}
	for i := range l.commits {
		if l.fileAt[i] == l.fileAt[i+1] {
			continue
		}
		w.each(of(i), func(term uint32, tf byte) {
			x.postings[next[term]] = uint32(i)<<8 | uint32(tf)
			next[term]++
		})
	}
	return x
}

// place lays out the postings of the terms that occur.
func (x *messageIndex) place(w *wordTable, df []uint32) {
	n := 0
	for _, d := range df {
		if d > 0 {
			n++
		}
	}
	x.terms = make(map[string]uint32, n)
	x.at = make([]uint32, 1, n+1)
	end := uint32(0)
	for t, term := range w.terms {
		if df[t] == 0 {
			continue
		}
		end += df[t]
		x.terms[term] = uint32(len(x.at) - 1)
		x.at = append(x.at, end)
	}
}

// wordsOf returns the words of the commits that count: the cached words, or words tokenised now.
func (l *Log) wordsOf() (w *wordTable, of func(i int) int32) {
	if len(l.store.words.of) >= len(l.store.commits) {
		return &l.store.words, func(i int) int32 { return l.commits[i] }
	}
	w = &wordTable{}
	for _, c := range l.commits {
		e := &l.store.commits[c]
		w.add(e.subject, e.body, l.opts.Tokenizer)
	}
	return w, func(i int) int32 { return int32(i) }
}

// Prepare builds the index of messages now and not at the first query.
func (l *Log) Prepare() { l.texts() }
