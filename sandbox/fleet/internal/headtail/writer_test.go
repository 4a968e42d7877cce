package headtail

import (
	"strings"
	"testing"
)

func TestWriter(t *testing.T) {
	text := strings.Repeat("0123456789", 10)
	for _, limit := range []int{0, 1, 2, 7, 20, 99, 100, 101, 1000} {
		for _, piece := range []int{1, 3, 50, 100} {
			w := Writer{Limit: limit}
			for rest := text; rest != ""; {
				n := min(piece, len(rest))
				if k, err := w.Write([]byte(rest[:n])); k != n || err != nil {
					t.Fatal(k, err)
				}
				rest = rest[n:]
			}
			o := w.Output()
			kept := len(o.Head) + len(o.Tail)
			if o.Total != 100 || kept != min(limit, 100) || !strings.HasPrefix(text, string(o.Head)) || !strings.HasSuffix(text, string(o.Tail)) {
				t.Errorf("limit %d, pieces of %d: %q and %q of %d", limit, piece, o.Head, o.Tail, o.Total)
			}
		}
	}
}
