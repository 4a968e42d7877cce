package eval

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"io/fs"
	"math"
	"os"
	"path/filepath"
)

// BM25 ranks whole files by their words: k1 1.2, b 0.75, with identifiers also split into their
// parts. It is the baseline that any index must beat. A BM25 caches the words of the files it has
// read, by content, because trees of one repository share most of their files; use one BM25 for all
// queries of a repository. It is not safe for concurrent use.
type BM25 struct {
	seed maphash.Seed
	ids  map[string]uint32
	docs map[uint64]*document
}

type document struct {
	counts map[uint32]uint32
	length int
}

const (
	bm25K1 = 1.2
	bm25B  = 0.75
	// maxFile limits the size of the files that are read.
	maxFile = 1 << 20
)

// NewBM25 returns an empty baseline.
func NewBM25() *BM25 {
	return &BM25{seed: maphash.MakeSeed(), ids: map[string]uint32{}, docs: map[uint64]*document{}}
}

// Rank returns the files of a directory that contain a word of the query, best first.
func (x *BM25) Rank(dir, query string) ([]string, error) {
	var paths []string
	var docs []*document
	total := 0
	err := eachFile(dir, func(path string, content []byte) {
		d := x.document(content)
		paths, docs = append(paths, path), append(docs, d)
		total += d.length
	})
	if err != nil {
		return nil, fmt.Errorf("eval: rank %s: %w", dir, err)
	}
	mean := float64(total) / float64(max(len(docs), 1))
	scores := make(map[string]float64, len(docs))
	for _, term := range x.query(query) {
		df := 0
		for _, d := range docs {
			if d.counts[term] > 0 {
				df++
			}
		}
		idf := math.Log1p((float64(len(docs)) - float64(df) + 0.5) / (float64(df) + 0.5))
		for i, d := range docs {
			if n := float64(d.counts[term]); n > 0 {
				scores[paths[i]] += idf * n * (bm25K1 + 1) / (n + bm25K1*(1-bm25B+bm25B*float64(d.length)/mean))
			}
		}
	}
	return sortRanked(scores), nil
}

func (x *BM25) query(text string) []uint32 {
	var out []uint32
	seen := map[uint32]bool{}
	terms([]byte(text), func(t []byte) {
		id, ok := x.ids[string(t)]
		if ok && !seen[id] && !stopWords[string(t)] {
			seen[id] = true
			out = append(out, id)
		}
	})
	return out
}

func (x *BM25) document(content []byte) *document {
	h := maphash.Bytes(x.seed, content)
	if d := x.docs[h]; d != nil {
		return d
	}
	d := &document{counts: map[uint32]uint32{}}
	terms(content, func(t []byte) {
		id, ok := x.ids[string(t)]
		if !ok {
			id = uint32(len(x.ids))
			x.ids[string(t)] = id
		}
		d.counts[id]++
		d.length++
	})
	x.docs[h] = d
	return d
}

// eachFile yields the text files of a directory, with slash-separated paths.
func eachFile(dir string, yield func(path string, content []byte)) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		fi, err := e.Info()
		if err != nil || fi.Size() > maxFile {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil || bytes.IndexByte(content[:min(len(content), 8<<10)], 0) >= 0 {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		yield(filepath.ToSlash(rel), content)
		return err
	})
}
