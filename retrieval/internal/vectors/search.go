package vectors

import (
	"context"
	"fmt"
)

// Scored is a text that a search found.
type Scored struct {
	Key   Key
	Score float32 // cosine of the angle to the query, from -1 to 1
	IDs   []int   // numbers of the texts in the searched Set, ascending; nil without a Set
}

// Search returns the k vectors nearest to the query vector by cosine, nearest first; if two are
// equally near, the one with the smaller key comes first. The result is exactly that of a
// comparison with every vector in float32. There are fewer than k only if the store has fewer.
func (s *Store) Search(ctx context.Context, vector []float32, k int) ([]Scored, error) {
	return s.search(ctx, vector, k, nil)
}

// search searches the rows of a set, or all rows if it is nil. Rows that turn out to be damaged are
// dropped, and the search is repeated without them, because their bounds may have excluded other
// rows.
func (s *Store) search(ctx context.Context, vector []float32, k int, set *Set) ([]Scored, error) {
	q, err := newQuery(vector)
	if err != nil {
		return nil, fmt.Errorf("vectors: search: the query: %w", err)
	}
	for {
		found, st, damaged, err := s.searchOnce(ctx, q, k, set)
		if err != nil {
			return nil, fmt.Errorf("vectors: search: %w", err)
		}
		if len(damaged) == 0 {
			return found, nil
		}
		s.dropRows(st, damaged)
	}
}

// searchOnce searches with the store locked. It also returns the rows of st that it found damaged.
func (s *Store) searchOnce(ctx context.Context, q *query, k int, set *Set) (found []Scored, st *state, damaged []int, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st = s.st
	switch {
	case s.closed:
		return nil, st, nil, ErrClosed
	case st.alive == 0 || k < 1:
		return nil, st, nil, ctx.Err()
	case len(q.exact) != st.dim:
		return nil, st, nil, fmt.Errorf("the query has %d components, the store's vectors have %d", len(q.exact), st.dim)
	}
	x := scanner{st: st, q: q, k: min(k, st.alive), rows: st.live}
	var sel *selection
	if set != nil {
		if sel, err = set.current(); err != nil {
			return nil, st, nil, err
		}
		x.rows = sel.rows
	}
	if err := x.scan(ctx); err != nil {
		return nil, st, nil, err
	}
	best, damaged, err := x.rescore()
	for _, b := range best {
		hit := Scored{Key: b.key, Score: b.score}
		if sel != nil {
			hit.IDs = sel.ids(b.row)
		}
		found = append(found, hit)
	}
	return found, st, damaged, err
}

// dropRows drops damaged rows, unless the store has been reloaded meanwhile.
func (s *Store) dropRows(st *state, rows []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.st != st {
		return
	}
	for _, row := range rows {
		st.drop(row)
	}
}
