package ranking

import (
	"cmp"
	"math"
	"slices"

	"github.com/luthier-dev/luthier/retrieval/internal/postings"
)

// A list is one way to score files by a query's words.
type list uint8

const (
	allWords  list = iota // every field, all words
	allNames              // every field, identifiers
	allQuoted             // every field, words of traces and code
	allJoined             // every field, neighbouring query words joined to identifiers
	allTitle              // every field, words of the first line
	pathWords
	pathTitle
	pathJoined
	defWords // names of definitions
	defNames
	defJoined
	commentWords
	bodyWords
	coverWords // total rarity of the query's words that occur in the file
	coverTitle
	bestChunk // the best chunk's score for all words
	topChunks // the sum of the best three
	bestTitle // the best chunk's score for the first line
	numLists
)

// fieldWeight holds the fields' weights for lists that combine all fields.
var fieldWeight = [NumFields]float32{Body: 1, Comments: 1, Strings: 0.8, Definitions: 3, Path: 4}

// Parameters of BM25: k1 and b for files, chunks and single fields.
const (
	k1File, bFile   = 1.2, 0.6
	k1Chunk, bChunk = 1.5, 0.4
	bField          = 0.3
)

const (
	maxTerms    = 96      // query words that are looked up, the rarest first
	maxPostings = 700_000 // limit for the postings of all words together; words beyond it are too common to be informative
)

// A Segment is one index with the metadata of its files.
type Segment struct {
	Lex   *postings.Reader
	Sizes *Sizes
	Live  func(file uint32) bool // nil means that all are live
	Info  []Info                 // by file
}

// Sizes holds the lengths of the files and chunks of an index, in the form that Score needs.
type Sizes struct {
	file  [][NumFields]float32 // number of terms in each field
	chunk []float32            // terms, weighted
	total [NumFields]float64
}

// SizesOf adds up the lengths of an index. Callers should keep the result while the index is open.
func SizesOf(lex *postings.Reader) *Sizes {
	z := &Sizes{file: make([][NumFields]float32, lex.Files()), chunk: make([]float32, lex.Chunks())}
	for f := range NumFields {
		lengths := lex.Lengths(f)
		for c := range uint32(lex.Chunks()) {
			n := float32(lengths.At(c))
			z.chunk[c] += n * min(fieldWeight[f], 1)
			z.file[lex.FileOf(c)][f] += n
			z.total[f] += float64(n)
		}
	}
	return z
}

// sums holds the results of Score in one segment.
type sums struct {
	slot  []int32 // by file: the index of its row in rows plus one, 0 for none
	files []uint32
	rows  [][numLists]float32

	words, title, names []float32 // by chunk: score for all words, for the first line, and for identifiers and definitions
}

// scored holds a query's sums over all segments.
type scored struct {
	q    *Query
	segs []Segment
	sums []sums
	max  [numLists]float32
	all  float32 // total rarity of all words: the maximum of coverWords
	head float32 // the same for the first line
}

// means holds the average lengths over all segments.
type means struct {
	files, chunks int
	field         [NumFields]float32
	file, chunk   float32
}

func meansOf(segs []Segment) means {
	var m means
	var total [NumFields]float64
	for _, s := range segs {
		m.files += s.Lex.Files()
		m.chunks += s.Lex.Chunks()
		for f, n := range s.Sizes.total {
			total[f] += n
		}
	}
	for f := range NumFields {
		n := float32(total[f]) * min(fieldWeight[f], 1)
		m.field[f] = max(float32(total[f])/float32(max(m.files, 1)), 1)
		m.file += n / float32(max(m.files, 1))
		m.chunk += n / float32(max(m.chunks, 1))
	}
	m.file, m.chunk = max(m.file, 1), max(m.chunk, 1)
	return m
}

// A weighed is a query word with its occurrences.
type weighed struct {
	w         [numViews]float32
	all       float32 // its weight among all words
	idf, idfC float32 // rarity over files and over chunks
	postings  int
	in        []postings.Term
	has       []bool
}

func rarity(df, n float64) float32 { return float32(math.Log(1 + (n-df+0.5)/(df+0.5))) }

// weigh looks up the query's words and keeps the most informative ones.
func weigh(q *Query, segs []Segment, m *means) []weighed {
	out := make([]weighed, 0, len(q.Terms))
	for i := range q.Terms {
		t := &q.Terms[i]
		w := weighed{w: t.W, in: make([]postings.Term, len(segs)), has: make([]bool, len(segs))}
		files := 0
		for j, s := range segs {
			if w.in[j], w.has[j] = s.Lex.Lookup([]byte(t.Text)); w.has[j] {
				files += int(w.in[j].FileFreq)
				w.postings += int(w.in[j].DocFreq)
			}
		}
		if files == 0 {
			continue
		}
		w.idf = rarity(float64(files), float64(m.files))
		w.idfC = rarity(float64(w.postings), float64(m.chunks))
		w.all = t.weight()
		out = append(out, w)
	}
	value := func(w *weighed) float32 { return w.idf * (w.all + w.w[Title] + w.w[Joined]/2) }
	slices.SortStableFunc(out, func(a, b weighed) int { return cmp.Compare(value(&b), value(&a)) })
	budget := maxPostings
	for i := range out {
		if budget -= out[i].postings; i == maxTerms || budget < 0 && i >= 3 {
			return out[:i]
		}
	}
	return out
}

// score runs a query over segments.
func score(q *Query, segs []Segment) *scored {
	r := &scored{q: q, segs: segs, sums: make([]sums, len(segs))}
	m := meansOf(segs)
	terms := weigh(q, segs, &m)
	for i := range terms {
		r.all += terms[i].idf * terms[i].all
		if terms[i].w[Title] > 0 {
			r.head += terms[i].idf
		}
	}
	for i := range segs {
		r.sums[i].run(&segs[i], i, terms, &m)
		r.best(i)
	}
	return r
}

// run adds the scores of all words over one segment.
func (d *sums) run(s *Segment, at int, terms []weighed, m *means) {
	d.slot = make([]int32, s.Lex.Files())
	n := s.Lex.Chunks()
	all := make([]float32, 3*n)
	d.words, d.title, d.names = all[:n], all[n:2*n], all[2*n:]
	var buf [256]postings.Posting
	for i := range terms {
		if terms[i].has[at] {
			d.term(s, &terms[i], terms[i].in[at], m, buf[:])
		}
	}
}

// term adds the scores of one word. Its postings come by chunk, so those of a file are adjacent.
func (d *sums) term(s *Segment, w *weighed, t postings.Term, m *means, buf []postings.Posting) {
	var tf [NumFields]float32
	first, end := uint32(0), uint32(0) // chunks of the current file
	file, live := uint32(0), false
	for it := s.Lex.Postings(t); ; {
		n := it.Next(buf)
		if n == 0 {
			break
		}
		for i := range buf[:n] {
			p := &buf[i]
			if p.Chunk >= end || p.Chunk < first {
				if live {
					d.addFile(s, w, file, &tf, m)
				}
				tf = [NumFields]float32{}
				file = s.Lex.FileOf(p.Chunk)
				first, end = s.Lex.ChunksOf(file)
				live = s.Live == nil || s.Live(file)
			}
			if live {
				d.addChunk(s, w, p, &tf, m)
			}
		}
	}
	if live {
		d.addFile(s, w, file, &tf, m)
	}
}

func (d *sums) addChunk(s *Segment, w *weighed, p *postings.Posting, tf *[NumFields]float32, m *means) {
	var all float32
	for f := range NumFields {
		n := float32(p.TF[f])
		tf[f] += n
		all += n * fieldWeight[f]
	}
	sat := w.idfC * saturate(all, k1Chunk, 1-bChunk+bChunk*s.Sizes.chunk[p.Chunk]/m.chunk)
	d.words[p.Chunk] += w.all * sat
	d.title[p.Chunk] += w.w[Title] * sat
	d.names[p.Chunk] += (w.w[Names]+w.w[Joined])*sat + w.all*w.idfC*float32(min(p.TF[Definitions], 2))
}

// saturate computes BM25's saturation for n occurrences in a text whose length is norm times the
// mean.
func saturate(n, k1, norm float32) float32 { return n * (k1 + 1) / (n + k1*norm) }

func (d *sums) addFile(s *Segment, w *weighed, file uint32, tf *[NumFields]float32, m *means) {
	if d.slot[file] == 0 {
		d.files = append(d.files, file)
		d.rows = append(d.rows, [numLists]float32{})
		d.slot[file] = int32(len(d.rows))
	}
	l := &d.rows[d.slot[file]-1]
	size := &s.Sizes.file[file]
	var all, length float32
	for f := range NumFields {
		all += tf[f] * fieldWeight[f]
		length += size[f] * min(fieldWeight[f], 1)
	}
	v := &w.w
	sat := w.idf * saturate(all, k1File, 1-bFile+bFile*length/m.file)
	l[allWords] += sat * w.all
	l[allTitle] += sat * v[Title]
	l[allNames] += sat * v[Names]
	l[allQuoted] += sat * v[Quoted]
	l[allJoined] += sat * v[Joined]
	l[coverWords] += w.idf * w.all
	if v[Title] > 0 {
		l[coverTitle] += w.idf
	}
	field := func(f postings.Field) float32 {
		return w.idf * saturate(tf[f], k1File, 1-bField+bField*size[f]/m.field[f])
	}
	if tf[Path] > 0 {
		x := field(Path)
		l[pathWords] += x * w.all
		l[pathTitle] += x * v[Title]
		l[pathJoined] += x * v[Joined]
	}
	if tf[Definitions] > 0 {
		x := field(Definitions)
		l[defWords] += x * w.all
		l[defNames] += x * v[Names]
		l[defJoined] += x * v[Joined]
	}
	if tf[Comments] > 0 {
		l[commentWords] += field(Comments) * w.all
	}
	if tf[Body] > 0 {
		l[bodyWords] += field(Body) * w.all
	}
}

// best finds the best chunks of each file, and the highest score of each list.
func (r *scored) best(at int) {
	d := &r.sums[at]
	for i, f := range d.files {
		from, to := r.segs[at].Lex.ChunksOf(f)
		var top [3]float32
		var title float32
		for c := from; c < to; c++ {
			x := d.words[c]
			for i := range top {
				if x > top[i] {
					top[i], x = x, top[i]
				}
			}
			title = max(title, d.title[c])
		}
		l := &d.rows[i]
		l[bestChunk], l[topChunks], l[bestTitle] = top[0], top[0]+top[1]+top[2], title
		for i := range l {
			r.max[i] = max(r.max[i], l[i])
		}
	}
}
