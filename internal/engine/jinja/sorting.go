package jinja

import "slices"

// sortBy sorts stably by keys with Python's <. If reverse is set, equal items still keep their
// order, as in Python.
func sortBy[T any](r *run, items []T, key func(T) Value, reverse bool) error {
	type keyed struct {
		item T
		key  Value
	}
	all := make([]keyed, len(items))
	for i, x := range items {
		all[i] = keyed{x, key(x)}
	}
	var failed error
	slices.SortStableFunc(all, func(a, b keyed) int {
		if failed != nil {
			return 0
		}
		x, y := a.key, b.key
		if reverse {
			x, y = y, x
		}
		less, err := r.order(opLt, x, y)
		if err == nil && less {
			return -1
		}
		if err == nil {
			less, err = r.order(opLt, y, x)
		}
		if err != nil {
			failed = err
		} else if less {
			return 1
		}
		return 0
	})
	for i := range all {
		items[i] = all[i].item
	}
	return failed
}
