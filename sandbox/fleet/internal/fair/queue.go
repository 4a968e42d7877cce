// Package fair orders the requests of many tenants so that one with many does
// not hold up one with few.
package fair

import "container/heap"

// Queue hands out items in the order of start-time fair queueing: each tenant's
// items are spaced by their cost in a time that advances with what is handed
// out, so that tenants who ask at the same time get equal shares, and one who
// asks seldom is served at once. It is not safe for concurrent use.
type Queue[T any] struct {
	items  items[T]
	finish map[string]float64 // when a tenant's last item ends
	now    float64            // start of the item handed out last
	seq    uint64
}

type item[T any] struct {
	value T
	start float64
	seq   uint64 // ties go to who came first
}

// Len is the number of items that wait.
func (q *Queue[T]) Len() int { return len(q.items) }

// Push adds a tenant's item; cost is its share of what is handed out, 1 for
// equal items.
func (q *Queue[T]) Push(tenant string, cost float64, v T) {
	if q.finish == nil {
		q.finish = map[string]float64{}
	}
	start := max(q.now, q.finish[tenant])
	q.finish[tenant] = start + cost
	q.seq++
	heap.Push(&q.items, item[T]{v, start, q.seq})
}

// Pop hands out the next item; ok is false if there is none.
func (q *Queue[T]) Pop() (v T, ok bool) {
	if len(q.items) == 0 {
		return v, false
	}
	it := heap.Pop(&q.items).(item[T])
	q.now = it.start
	if len(q.items) == 0 {
		// Nobody waits, so nobody has a debt: tenants need not be remembered.
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
	old[len(old)-1] = item[T]{} // let go of the value
	*h = old[:len(old)-1]
	return last
}
