package eval

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzQueries parses arbitrary bytes; accepted queries can be scored, and written and read again.
func FuzzQueries(f *testing.F) {
	f.Add([]byte(`{"id":"a","mirror":"a+a","commit":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","query":"q","files":["f"],` +
		`"hunks":[{"file":"f","ranges":[[3,2,"h"],[9223372036854775807,5,""]]}]}`))
	f.Add([]byte(`{"hunks":[{"ranges":[[]]}]}` + "\n\n[]"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		queries, err := appendQueries(nil, b)
		if err != nil {
			return
		}
		var out []byte
		for _, q := range queries {
			Score(q, q.Files).WithPlace(q, []Hit{{q.Files[0], 1, 5}})
			line, err := json.Marshal(q)
			if err != nil {
				t.Fatal(err)
			}
			out = append(append(out, line...), '\n')
		}
		again, err := appendQueries(nil, out)
		if d := cmp.Diff(queries, again); err != nil || d != "" {
			t.Fatalf("error %v (-read +read again):\n%s", err, d)
		}
	})
}

// FuzzTerms checks that every term is short and lower-cased.
func FuzzTerms(f *testing.F) {
	f.Add([]byte("parseHTTPHeader snake_case __init__ größe"))
	f.Fuzz(func(t *testing.T, b []byte) {
		terms(b, func(w []byte) {
			if len(w) < 2 || len(w) > 64 {
				t.Errorf("term %q", w)
			}
			for _, c := range w {
				if 'A' <= c && c <= 'Z' {
					t.Errorf("term %q", w)
				}
			}
		})
	})
}
