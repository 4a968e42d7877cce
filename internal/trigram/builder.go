package trigram

import (
	"fmt"
)

// Builder makes an index. It is for one goroutine; make one for each part that is built at the same time.
type Builder struct {
	docs  []uint32 // numbers of the documents, ascending
	lists postings
	seen  []uint64 // a bit for each trigram of the document at hand
	found []uint32 // the trigrams of the document at hand
	text  []byte   // the same, folded
}

// NewBuilder makes an empty index. It takes 2 MB at once and then about a third of the text that is added, at most.
func NewBuilder() *Builder {
	return &Builder{seen: make([]uint64, 1<<24/64), lists: newPostings()}
}

// Add adds a document. Documents come in ascending order of their numbers, or Add panics. A large file is better added as
// several documents of whole lines, if what is searched for lies in one line.
func (b *Builder) Add(doc uint32, text []byte) {
	if n := len(b.docs); n > 0 && b.docs[n-1] >= doc {
		panic(fmt.Sprintf("trigram: add document %d: %d was added before; documents must come in ascending order", doc, b.docs[n-1]))
	}
	b.docs = append(b.docs, doc)
	b.collect(b.folded(text))
	b.lists.add(uint32(len(b.docs)-1), b.found)
	for _, t := range b.found {
		b.seen[t>>6] = 0
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

// collect finds the different trigrams of text.
func (b *Builder) collect(text []byte) {
	b.found = b.found[:0]
	if len(text) < 3 {
		return
	}
	seen := (*[1 << 24 / 64]uint64)(b.seen)
	t := uint32(text[0])<<8 | uint32(text[1])
	for _, c := range text[2:] {
		t = t<<8&0xffffff | uint32(c)
		if word, bit := &seen[t>>6], uint64(1)<<(t&63); *word&bit == 0 {
			*word |= bit
			b.found = append(b.found, t)
		}
	}
}
