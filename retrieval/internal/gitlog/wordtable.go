package gitlog

import (
	"encoding/binary"
	"slices"
)

// wordTable holds the words of each commit of a store, in the store's order.
type wordTable struct {
	key   string
	terms []string
	ids   map[string]uint32 // built when something is added
	// of holds for each commit its terms in ascending order: the difference to the previous term as
	// a varint, and a byte with its frequencies in subject and body.
	of []string

	counts []termCount
	buf    []byte
}

// Layout of the byte that holds a term's frequencies in subject and body.
const (
	maxSubjectTF = 7
	bodyBits     = 5
	maxBodyTF    = 1<<bodyBits - 1
)

type termCount struct {
	term          uint32
	subject, body uint32
}

func (w *wordTable) id(term string) uint32 { return numberOf(&w.terms, &w.ids, term) }

// add adds the words of the next commit.
func (w *wordTable) add(subject, body string, tokenize func(string) []string) {
	w.counts = w.counts[:0]
	for _, t := range tokenize(subject) {
		w.counts = append(w.counts, termCount{term: w.id(t), subject: 1})
	}
	if body != "" {
		for _, t := range tokenize(body) {
			w.counts = append(w.counts, termCount{term: w.id(t), body: 1})
		}
	}
	slices.SortFunc(w.counts, func(a, b termCount) int { return int(a.term) - int(b.term) })
	b, last := w.buf[:0], uint32(0)
	for i := 0; i < len(w.counts); {
		c := w.counts[i]
		for i++; i < len(w.counts) && w.counts[i].term == c.term; i++ {
			c.subject += w.counts[i].subject
			c.body += w.counts[i].body
		}
		b = binary.AppendUvarint(b, uint64(c.term-last))
		b = append(b, byte(min(c.subject, maxSubjectTF)<<bodyBits|min(c.body, maxBodyTF)))
		last = c.term
	}
	w.buf = b
	w.of = append(w.of, string(b))
}

// each decodes the terms of a commit. It stops at invalid bytes.
func (w *wordTable) each(commit int32, yield func(term uint32, tf byte)) {
	b, term := w.of[commit], uint64(0)
	for len(b) > 0 {
		d, n := uvarint(b)
		if n <= 0 || n >= len(b) || d > uint64(len(w.terms)) {
			return
		}
		if term += d; term >= uint64(len(w.terms)) {
			return
		}
		yield(uint32(term), b[n])
		b = b[n+1:]
	}
}
