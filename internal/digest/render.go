package digest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/tokencount"
)

// render writes the chosen items.
func (s *selection) render() Output {
	var b strings.Builder
	var facts []Fact
	heading := false
	slices.SortStableFunc(s.items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.seat, b.seat), cmp.Compare(a.line, b.line))
	})
	for _, it := range s.items {
		if !it.taken {
			continue
		}
		if it.kind == KindTest && !heading {
			b.WriteString("failed:\n")
			heading = true
		}
		if !it.laid && it.seat > 0 && it.block > 1 {
			b.WriteByte(' ')
		}
		b.WriteString(it.lead)
		b.WriteString(it.text)
		b.WriteByte('\n')
		facts = append(facts, Fact{it.kind, it.text, it.line})
	}
	text := b.String()
	return Output{text, tokencount.Estimate(text), facts}
}
