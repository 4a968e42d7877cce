package embed

import (
	"fmt"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/retrieval"
)

// defaultMaxText keeps texts below 8,192 tokens, the limit of OpenAI's models and many others, if a
// token has at least two bytes on average.
const defaultMaxText = 16 << 10

// preparation describes how texts are changed before they are embedded.
type preparation struct {
	prefixes Prefixes
	max      int // bytes
}

func newPreparation(model string, p *Prefixes, maxText int) preparation {
	prep := preparation{max: maxText}
	if maxText <= 0 {
		prep.max = defaultMaxText
	}
	if p != nil {
		prep.prefixes = *p
	} else {
		prep.prefixes = PrefixesOf(model)
	}
	return prep
}

// name identifies everything that determines the vectors of documents.
func (p preparation) name(model string, dim int) string {
	name := fmt.Sprintf("%s, texts to %d bytes", model, p.max)
	if p.prefixes.Document != "" {
		name += fmt.Sprintf(" after %q", p.prefixes.Document)
	}
	if dim > 0 {
		name += fmt.Sprintf(", %d components", dim)
	}
	return name
}

// apply returns the texts in the form in which they are embedded.
func (p preparation) apply(texts []string, kind retrieval.EmbedKind) []string {
	prefix := p.prefixes.Document
	if kind == retrieval.EmbedQuery {
		prefix = p.prefixes.Query
	}
	out := make([]string, len(texts))
	for i, t := range texts {
		if len(t) > p.max {
			n := p.max
			for n > 0 && !utf8.RuneStart(t[n]) {
				n--
			}
			t = t[:n]
		}
		out[i] = prefix + t
	}
	return out
}
