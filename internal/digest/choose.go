package digest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/tokencount"
)

// choose takes items by rank while the budget lasts.
func (s *selection) choose() {
	s.shortNames()
	order := make([]int, len(s.items))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.items[a].rank, s.items[b].rank) })
	left := s.budget - 6 // for headings
	written := map[string]bool{}
	for _, i := range order {
		it := &s.items[i]
		if it.rank < rankNever && it.cost <= left && !written[it.text] {
			written[it.text] = true
			if it.kind == KindError { // the place of this error need not be repeated below it
				if at, ok := findPlace(it.text); ok && at.from == 0 {
					written[it.text[:at.to]] = true
				}
			}
			it.taken = true
			left -= it.cost
		}
	}
}

// Limits if the budget is too small for all failing tests: the share of the budget for their names
// (the rest is for the message that most of them have in common), and the part of that share for
// full names.
const (
	nameShare = 0.92
	fullShare = 0.9
)

// shortNames makes room if the budget is too small for all failing tests: the last tests are named
// without file and class, and tests that still do not fit are only counted.
func (s *selection) shortNames() {
	room := int(nameShare * float64(s.budget))
	full := 0
	var names []int
	for i, it := range s.items {
		switch {
		case it.kind == KindTest:
			names = append(names, i)
			full += it.cost
		case it.rank < rankName:
			room -= it.cost
		}
	}
	if full <= room {
		return
	}
	used, counted := 0, 0
	for _, i := range names {
		it := &s.items[i]
		if used+it.cost > int(fullShare*float64(room)) {
			it.text = tail(it.text)
			it.cost = tokencount.Estimate(it.text) + 1
			it.block, it.seat = s.blocks, 0
		}
		if used += it.cost; used > room-10 {
			it.rank = rankNever
			counted++
		}
	}
	if counted > 0 {
		s.add(KindLine, fmt.Sprintf("… and %d more failing tests", counted), 0, rankName, s.blocks+1, 0)
	}
}

// tail returns the last part of a test's name.
func tail(name string) string {
	if i := strings.Index(name, " ("); i > 0 {
		return name[:i]
	}
	end := len(name)
	if i := strings.IndexByte(name, '['); i > 0 {
		end = i
	}
	if i := strings.LastIndex(name[:end], "::"); i > 0 {
		return name[i+2:]
	}
	for _, sep := range []string{" › ", " > "} {
		if i := strings.LastIndex(name, sep); i > 0 {
			return name[i+len(sep):]
		}
	}
	if i := strings.LastIndexAny(name[:end], "./#"); i > 0 && !strings.Contains(name, " ") {
		return name[i+1:]
	}
	return name
}
