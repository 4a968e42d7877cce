package trigram

import (
	"fmt"
)

// Builder makes an index. It is for one goroutine; make one for each part that is built at the same
// time.
type Builder struct {
	docs  []uint32 // numbers of the documents, ascending
	lists postings
	seen  []uint64 // a bit for each trigram of the document at hand
	found []uint32 // the trigrams of the document at hand
	text  []byte   // the same, folded
	size  int      // of all text so far
}

// NewBuilder makes an empty index. It grows to about half of the text that is added, and 2 MB.
func NewBuilder() *Builder {
	return &Builder{lists: newPostings()}
}

// Add adds a document. Documents come in ascending order of their numbers, or Add panics. A large
// file is better added as several documents of whole lines, if what is searched for lies in one
// line.
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

// folded is text folded between two newlines.
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

// smallText is as much text as is not worth the table of trigrams seen: an index of one changed
// file is made at once.
const smallText = 64 << 10

// collect finds the trigrams of text: the different ones, unless there is little text in all.
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
		b.found = b.found[1:] // the first is a pair
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
