// Package fair orders the requests of many tenants so that a tenant with many requests does not
// delay a tenant with few.
package fair

import "container/heap"

// Queue returns items in the order of start-time fair queueing: each tenant's items are spaced by
// their cost in a virtual time that advances as items are returned. Tenants with requests at the
// same time get equal shares, and a tenant with few requests is served at once. A Queue is not safe
// for concurrent use.
type Queue[T any] struct {
	items  items[T]
	finish map[string]float64 // virtual time at which a tenant's last item ends
	now    float64            // start of the item returned last
	seq    uint64
}

type item[T any] struct {
	value T
	start float64
	seq   uint64 // breaks ties by order of arrival
}

// Len returns the number of items that wait.
func (q *Queue[T]) Len() int { return len(q.items) }

// Push adds a tenant's item; cost is its share of the total, 1 for equal items.
func (q *Queue[T]) Push(tenant string, cost float64, v T) {
	if q.finish == nil {
		q.finish = map[string]float64{}
	}
	start := max(q.now, q.finish[tenant])
	q.finish[tenant] = start + cost
	q.seq++
	heap.Push(&q.items, item[T]{v, start, q.seq})
}

// Pop returns the next item; the result ok is false if there is none.
func (q *Queue[T]) Pop() (v T, ok bool) {
	if len(q.items) == 0 {
		return v, false
	}
	it := heap.Pop(&q.items).(item[T])
	q.now = it.start
	if len(q.items) == 0 {
		// Nobody waits, so no tenant is behind or ahead, and all of them can be forgotten.
		clear(q.finish)
		q.now = 0
	}
	return it.value, true
}

type items[T any] []item[T]

func (h items[T]) Len() int { return len(h) }
func (h items[T]) Less(i, j int) bool {
	if h[i].start != h[j].start {
		return h[i].start < h[j].start
	}
	return h[i].seq < h[j].seq
}
func (h items[T]) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *items[T]) Push(x any)   { *h = append(*h, x.(item[T])) }
func (h *items[T]) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = item[T]{} // release the value
	*h = old[:len(old)-1]
	return last
}
