package ranking

import (
	"cmp"
	"math"
	"slices"
)

// A Place is a chunk of a file that a search found.
type Place struct {
	File       int // index in Ranking.Files
	Chunk      uint32
	Start, End int // lines from 1, both included
	Score      float64
	x          [numPlace]float32
}

// A placeFeature is a number that rates how well a chunk answers the query.
type placeFeature int

const (
	pFile     placeFeature = iota // how much lower the file's score is than the best
	pFileRank                     // 1 for the first file, 1/2 for the second
	pWords                        // as a share of the maximum over all files
	pTitle
	pNames
	pWordsHere // as a share of the maximum in this file
	pTitleHere
	pNamesHere
	pTitled      // it begins with a definition
	pTitleWords  // the share of its title's words that the query contains
	pTitleStrong // share of the title's words that are in the query's first line or are identifiers
	pFirst       // the head of the file
	pSize
	pPosition
	pMentioned // the query names one of its lines
	pRank
	pNamesRank
	numPlace
)

var placeNames = [numPlace]string{
	"file's score", "file's rank", "words", "title", "names", "words in its file", "title in its file", "names in its file",
	"defines something", "its name's words", "its name in the title", "head of the file", "size", "position", "line mentioned",
	"rank in its file", "rank by names in its file",
}

// filesWithPlaces is the number of best files whose chunks are ranked.
const filesWithPlaces = 30

// Places ranks the chunks of the best files. The function also, which may be nil, returns an amount
// to add to the score of the chunk with the given path and first line.
func (k *Ranking) Places(m *Model, also func(path string, start int) float64) []Place {
	var out []Place
	for i := range k.Files[:min(len(k.Files), filesWithPlaces)] {
		out = k.placesOf(i, out)
	}
	for i := range out {
		out[i].Score = m.place(&out[i].x)
		if also != nil {
			out[i].Score += also(k.Path(&k.Files[out[i].File]), out[i].Start)
		}
	}
	slices.SortStableFunc(out, func(a, b Place) int { return cmp.Compare(b.Score, a.Score) })
	return out
}

// placesOf appends the chunks of one file.
func (k *Ranking) placesOf(i int, out []Place) []Place {
	f := &k.Files[i]
	d, lex := &k.r.sums[f.Segment], k.r.segs[f.Segment].Lex
	from, to := lex.ChunksOf(f.ID)
	words, title, names := d.words[from:to], d.title[from:to], d.names[from:to]
	wordsDown, namesDown := descending(words), descending(names)
	bestW, bestT, bestN := largest(words), largest(title), largest(names)
	for c := range to - from {
		start, end := lex.Lines(from + c)
		p := Place{File: i, Chunk: from + c, Start: int(start), End: int(end)}
		p.x = [numPlace]float32{
			pFile: float32(f.Score - k.Files[0].Score), pFileRank: 1 / float32(i+1),
			pWords: div(words[c], k.r.max[bestChunk]), pTitle: div(title[c], k.r.max[bestTitle]), pNames: div(names[c], k.r.max[bestChunk]),
			pWordsHere: div(words[c], bestW), pTitleHere: div(title[c], bestT), pNamesHere: div(names[c], bestN),
			pFirst: truth(c == 0), pSize: float32(math.Log(float64(end-start+2))) / 4, pPosition: float32(c) / float32(to-from),
			pRank: 1 / float32(1+above(wordsDown, words[c])), pNamesRank: 1 / float32(1+above(namesDown, names[c])),
		}
		k.r.q.titled(lex.Title(from+c), &p.x)
		for j := range k.r.q.Mentions {
			if l := k.r.q.Mentions[j].Line; l >= int(start) && l <= int(end) {
				p.x[pMentioned] = 1
			}
		}
		out = append(out, p)
	}
	return out
}

func largest(s []float32) (m float32) {
	for _, v := range s {
		m = max(m, v)
	}
	return m
}

// descending returns a copy sorted in descending order.
func descending(s []float32) []float32 {
	out := slices.Clone(s)
	slices.SortFunc(out, func(a, b float32) int { return cmp.Compare(b, a) })
	return out
}

// above returns the number of elements of a descending list that are greater than x.
func above(descending []float32, x float32) int {
	n, _ := slices.BinarySearchFunc(descending, x, func(e, x float32) int { return cmp.Compare(x, e) })
	return n
}

// titled compares a chunk's title with the query.
func (q *Query) titled(title []byte, x *[numPlace]float32) {
	if len(title) == 0 {
		return
	}
	x[pTitled] = 1
	all, in, strong := 0, 0, 0
	EachTerm(string(title), &q.split, func(t []byte) {
		all++
		if i, ok := q.index[string(t)]; ok {
			in++
			if w := &q.Terms[i].W; w[Title] > 0 || w[Names] > 0 {
				strong++
			}
		}
	})
	if all > 0 {
		x[pTitleWords], x[pTitleStrong] = float32(in)/float32(all), float32(strong)/float32(all)
	}
}

// Title returns the name of the definition that begins or continues at a place.
func (k *Ranking) Title(p *Place) string {
	return string(k.r.segs[k.Files[p.File].Segment].Lex.Title(p.Chunk))
}
