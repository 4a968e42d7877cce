package trigram

import (
	"fmt"
)

// Builder builds an index. It is not safe for concurrent use; use one for each part that is built
// in parallel.
type Builder struct {
	docs  []uint32 // numbers of the documents, ascending
	lists postings
	seen  []uint64 // a bit for each trigram of the current document
	found []uint32 // the trigrams of the current document
	text  []byte   // the current document, folded
	size  int      // total size of the text so far
}

// NewBuilder returns an empty builder. It grows to about half the size of the added text, plus 2
// MB.
func NewBuilder() *Builder {
	return &Builder{lists: newPostings()}
}

// Add adds a document. Documents must be added in ascending order of their numbers, or Add panics.
// If searches only match within lines, it is better to add a large file as several documents of
// whole lines.
func (b *Builder) Add(doc uint32, text []byte) {
	if n := len(b.docs); n > 0 && b.docs[n-1] >= doc {
		panic(fmt.Sprintf("trigram: add document %d: %d was added before; documents must come in ascending order", doc, b.docs[n-1]))
	}
	b.docs = append(b.docs, doc)
	b.collect(b.folded(text))
	b.lists.add(uint32(len(b.docs)-1), b.found)
	if b.seen != nil {
		for _, t := range b.found {
			b.seen[t>>6] = 0
		}
	}
}

// folded returns the folded text with a newline before and after it.
func (b *Builder) folded(text []byte) []byte {
	out := append(b.text[:0], '\n')
	if ascii(text) {
		at := len(out)
		out = append(out, text...)
		part := out[at:]
		for i, c := range part {
			part[i] = foldByte[c]
		}
	} else {
		out = appendFolded(out, text)
	}
	b.text = append(out, '\n')
	return b.text
}

func ascii(text []byte) bool {
	for _, c := range text {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// smallText is the largest size of text for which trigrams are collected without the table of seen
// trigrams, which would cost more than it saves. This makes the index of one changed file very fast
// to build.
const smallText = 64 << 10

// collect finds the trigrams of text. They may contain duplicates if the text so far is small.
func (b *Builder) collect(text []byte) {
	b.found = b.found[:0]
	if b.size += len(text); b.seen == nil && b.size > smallText {
		b.seen = make([]uint64, 1<<24/64)
	}
	t := uint32(text[0])
	if b.seen == nil {
		for _, c := range text[1:] {
			t = t<<8&0xffffff | uint32(c)
			b.found = append(b.found, t)
		}
		b.found = b.found[1:] // the first is only a pair
		return
	}
	t = t<<8 | uint32(text[1])
	seen := (*[1 << 24 / 64]uint64)(b.seen)
	for _, c := range text[2:] {
		t = t<<8&0xffffff | uint32(c)
		if word, bit := &seen[t>>6], uint64(1)<<(t&63); *word&bit == 0 {
			*word |= bit
			b.found = append(b.found, t)
		}
	}
}
