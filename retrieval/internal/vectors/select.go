package vectors

import (
	"context"
	"sync"
)

// Set is a selection of texts, made by Store.Select. Searches of a Set also find vectors that are
// appended to the store later. A Set is safe for concurrent use.
type Set struct {
	store *Store
	keys  []Key

	mu  sync.Mutex
	sel *selection
}

// selection is a set resolved for one state of the store.
type selection struct {
	st      *state
	gen     uint64
	rows    bits
	first   []int32 // smallest number of a key for each row, plus one; 0 for none
	next    []int32 // next number with the same key, plus one
	missing []int
}

// Select returns the set of the texts with these keys. A text's number in the set is its index in
// keys. Equal texts have equal keys. The keys must not be changed afterwards.
func (s *Store) Select(keys []Key) *Set { return &Set{store: s, keys: keys} }

// Len returns the number of texts.
func (t *Set) Len() int { return len(t.keys) }

// Missing returns the numbers of texts without a vector, ascending; of equal texts only the first.
func (t *Set) Missing() ([]int, error) {
	t.store.mu.RLock()
	defer t.store.mu.RUnlock()
	if t.store.closed {
		return nil, ErrClosed
	}
	sel, err := t.current()
	if err != nil {
		return nil, err
	}
	return append([]int(nil), sel.missing...), nil
}

// Search returns the k texts of the set nearest to vector; see Store.Search.
func (t *Set) Search(ctx context.Context, vector []float32, k int) ([]Scored, error) {
	return t.store.search(ctx, vector, k, t)
}

// current returns the selection for the current state of the store, which must be locked for
// reading.
func (t *Set) current() (*selection, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	st := t.store.st
	if t.sel != nil && t.sel.st == st && t.sel.gen == st.gen {
		return t.sel, nil
	}
	sel := &selection{st: st, gen: st.gen, rows: bits(nil).grown(st.rows), first: make([]int32, st.rows), next: make([]int32, len(t.keys))}
	if err := guarded(func() error { sel.fill(t.keys); return nil }); err != nil {
		return nil, err
	}
	t.sel = sel
	return sel, nil
}

// fill looks up the keys in reverse order, so that each list of equal keys ascends.
func (x *selection) fill(keys []Key) {
	absent := map[Key]int{}
	for i := len(keys) - 1; i >= 0; i-- {
		row, ok := x.st.find(keys[i])
		if !ok {
			absent[keys[i]] = i
			continue
		}
		x.rows.add(row)
		x.next[i], x.first[row] = x.first[row], int32(i+1)
	}
	for i, k := range keys {
		if at, ok := absent[k]; ok && at == i {
			x.missing = append(x.missing, i)
		}
	}
}

// ids returns the numbers of the texts of a row.
func (x *selection) ids(row int) (ids []int) {
	for i := x.first[row]; i > 0; i = x.next[i-1] {
		ids = append(ids, int(i-1))
	}
	return ids
}
