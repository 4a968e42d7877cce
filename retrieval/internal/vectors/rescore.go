package vectors

import (
	"bytes"
	"cmp"
	"slices"
)

// exactHit is a row with its cosine.
type exactHit struct {
	row   int
	key   Key
	score float32
}

// before orders hits: nearer ones first, then those with smaller keys.
func (h exactHit) before(o exactHit) int {
	if h.score != o.score {
		return cmp.Compare(o.score, h.score)
	}
	return bytes.Compare(h.key[:], o.key[:])
}

// rescore computes exact float32 cosines of the rows that can be among the nearest, in descending
// order of their highest possible cosine, until no other row can be as near as the k-th nearest row
// found so far.
func (x *scanner) rescore() (best []exactHit, damaged []int, err error) {
	near := slices.DeleteFunc(x.near, func(c candidate) bool { return c.top < x.floor })
	slices.SortFunc(near, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.top, a.top), cmp.Compare(a.row, b.row)) })
	damaged = x.damaged
	checked := map[*block]bool{}
	err = guarded(func() error {
		for _, c := range near {
			if len(best) == x.k && c.top < best[x.k-1].score {
				return nil
			}
			b, i := x.st.at(int(c.row))
			row := b.exactRow(i, x.st.dim)
			if row == nil {
				if !checked[b] {
					damaged = append(damaged, x.damagedRows(b, int(c.row)-i)...)
				}
				checked[b] = true
				continue
			}
			score := x.q.cosine(row)
			if score-score != 0 { // NaN: not written by this package
				damaged = append(damaged, int(c.row))
				continue
			}
			best = insert(best, exactHit{int(c.row), b.key(i), score}, x.k)
		}
		return nil
	})
	return best, damaged, err
}

// damagedRows lists the live rows of a block that are damaged. The parameter first is the number of
// the block's first row.
func (x *scanner) damagedRows(b *block, first int) (rows []int) {
	for i := range b.n {
		if x.st.live.has(first+i) && b.exactRow(i, x.st.dim) == nil {
			rows = append(rows, first+i)
		}
	}
	return rows
}

// insert inserts h into the k best hits, which are sorted.
func insert(best []exactHit, h exactHit, k int) []exactHit {
	at, _ := slices.BinarySearchFunc(best, h, exactHit.before)
	if at == k {
		return best
	}
	if len(best) == k {
		best = best[:k-1]
	}
	return slices.Insert(best, at, h)
}
