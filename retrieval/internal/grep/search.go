package grep

import (
	"context"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
)

// Match is a matching line.
type Match struct {
	Doc    uint32
	Number int    // of the line, from 1
	Text   []byte // the line without its ending; valid until the loop continues
}

// SearchOptions limit a search.
type SearchOptions struct {
	Limit   int // maximum number of matching lines; 0 means no limit
	Workers int // goroutines that read and scan; 0 means GOMAXPROCS
}

const (
	maxBatch = 8 // documents that a worker takes at once
	ahead    = 4 // finished batches per worker that may wait for the caller
)

// ReadFunc returns the text of a document. It may use the capacity of buf, whose length is 0, or
// return its own bytes, which must not change until the same goroutine calls again. The function is
// called from several goroutines at once.
type ReadFunc func(doc uint32, buf []byte) ([]byte, error)

// Search finds the matching lines of documents, in the order of docs, reading and scanning several
// documents at once. A document that cannot be read yields an error with its number in Doc; the
// search continues after it if the caller does. If ctx ends, its cause is yielded last. When the
// loop is left, all goroutines have ended.
func Search(ctx context.Context, docs []uint32, read ReadFunc, p *Pattern, o SearchOptions) iter.Seq2[Match, error] {
	return func(yield func(Match, error) bool) {
		workers := o.Workers
		if workers <= 0 {
			workers = runtime.GOMAXPROCS(0)
		}
		j := &job{docs: docs, read: read, p: p, limit: -1, per: max(1, min(maxBatch, len(docs)/(4*workers)))}
		if o.Limit > 0 {
			j.limit = o.Limit
		}
		j.batches = (len(docs) + j.per - 1) / j.per
		workers = min(workers, j.batches)
		inner, cancel := context.WithCancel(ctx)
		j.slots = make([]chan *batch, ahead*workers)
		j.tokens = make(chan struct{}, len(j.slots))
		for i := range j.slots {
			j.slots[i] = make(chan *batch, 1)
			j.tokens <- struct{}{}
		}
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() { j.work(inner) })
		}
		defer wg.Wait()
		defer cancel()
		j.deliver(ctx, yield)
	}
}

// job is one search. Workers take batches in order. The number of slots limits how many batches
// they may be ahead of the caller.
type job struct {
	docs    []uint32
	read    ReadFunc
	p       *Pattern
	limit   int // maximum number of lines; negative means no limit
	per     int // documents per batch
	batches int
	next    atomic.Int64
	slots   []chan *batch // batch i goes through slot i modulo the number of slots
	tokens  chan struct{}
	spare   sync.Pool
}

// batch holds the results of consecutive documents.
type batch struct {
	docs  []found
	lines []Line // positions in text
	text  []byte // the matching lines
}

type found struct {
	doc   uint32
	lines int // number of the batch's lines, in order, that belong to this document
	err   error
}

// worker reads all documents into the same memory, most of which stays in the processor's cache.
type worker struct {
	*job
	scanner *Scanner
	room    []byte
	lines   []Line
}

const firstRoom = 256 << 10

func (j *job) work(ctx context.Context) {
	w := worker{job: j, scanner: j.p.Scanner(), room: make([]byte, 0, firstRoom)}
	for {
		select {
		case <-ctx.Done():
			return
		case <-j.tokens:
		}
		i := int(j.next.Add(1)) - 1
		if i >= j.batches {
			return
		}
		b, _ := j.spare.Get().(*batch)
		if b == nil {
			b = &batch{}
		}
		w.batch(ctx, b, j.docs[i*j.per:min((i+1)*j.per, len(j.docs))])
		j.slots[i%len(j.slots)] <- b
	}
}

func (w *worker) batch(ctx context.Context, b *batch, docs []uint32) {
	b.docs, b.lines, b.text = b.docs[:0], b.lines[:0], b.text[:0]
	for _, doc := range docs {
		left := -1
		if w.limit >= 0 {
			left = w.limit - len(b.lines)
		}
		if left == 0 || ctx.Err() != nil {
			return
		}
		text, err := w.read(doc, w.room)
		if err != nil {
			b.docs = append(b.docs, found{doc: doc, err: err})
			continue
		}
		w.lines = w.scanner.Append(w.lines[:0], text, left)
		if len(w.lines) > 0 {
			b.add(doc, text, w.lines)
		}
		if len(text) >= cap(w.room) {
			w.room = make([]byte, 0, len(text)+len(text)/4)
		}
	}
}

// add copies lines, because the text's memory is reused for the next document.
func (b *batch) add(doc uint32, text []byte, lines []Line) {
	b.docs = append(b.docs, found{doc: doc, lines: len(lines)})
	for _, l := range lines {
		at := len(b.text)
		b.text = append(b.text, text[l.Start:l.End]...)
		b.lines = append(b.lines, Line{l.Number, at, len(b.text)})
	}
}

// deliver yields the batches to the caller in order.
func (j *job) deliver(ctx context.Context, yield func(Match, error) bool) {
	left := j.limit
	for i := range j.batches {
		var b *batch
		select {
		case b = <-j.slots[i%len(j.slots)]:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			yield(Match{}, context.Cause(ctx))
			return
		}
		lines := b.lines
		for _, f := range b.docs {
			if f.err != nil && !yield(Match{Doc: f.doc}, f.err) {
				return
			}
			for _, l := range lines[:f.lines] {
				if !yield(Match{Doc: f.doc, Number: l.Number, Text: b.text[l.Start:l.End:l.End]}, nil) {
					return
				}
				if left--; left == 0 {
					return
				}
			}
			lines = lines[f.lines:]
		}
		clear(b.docs) // drop references to errors
		j.spare.Put(b)
		j.tokens <- struct{}{}
	}
}
