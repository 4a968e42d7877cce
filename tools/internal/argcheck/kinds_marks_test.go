package argcheck

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// TestOneMarkTooFewOrTooMany deletes each quote, comma, colon and bracket of right arguments,
// replaces it, and inserts marks before it: whatever is accepted has the value that was broken.
func TestOneMarkTooFewOrTooMany(t *testing.T) {
	tier.Normal(t)
	tools := checkers(t)
	var all tally
	for seed := range uint64(60) {
		m := maker{rand.New(rand.NewPCG(seed, 7))}
		tool, args := m.doc()
		want := plain(args)
		try := func(text string) {
			if json.Valid([]byte(text)) {
				return
			}
			all.cases++
			out, _, err := tools[tool].Repair(json.RawMessage(text))
			switch {
			case err != nil:
				all.refused++
			case sameValue(out, []byte(want)):
				all.right++
			default:
				all.wrong++
				t.Errorf("%s\n  became %s", text, out)
			}
		}
		text := m.render(tokens(args, nil))
		for i := 1; i < len(text)-1; i++ {
			if text[i] == '\\' {
				i++
				continue
			}
			if strings.IndexByte(`"`, text[i]) >= 0 || structural(text, i) {
				try(text[:i] + text[i+1:])
			}
			if structural(text, i) {
				for _, mark := range []string{",", ":", ";", "=", "}", "]", "#", "/", "'"} {
					try(text[:i] + mark + text[i:])
				}
				for _, mark := range []string{";", "=", "}", "]", "|"} {
					try(text[:i] + mark + text[i+1:])
				}
			}
		}
	}
	t.Log(all)
}

// structural reports whether a mark outside strings is at i.
func structural(text string, i int) bool {
	inString := false
	for j := 0; j < i; j++ {
		switch {
		case text[j] == '\\':
			j++
		case text[j] == '"':
			inString = !inString
		}
	}
	return !inString && strings.IndexByte(",:{}[]", text[i]) >= 0
}
