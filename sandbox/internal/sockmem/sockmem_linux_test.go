package sockmem

import "testing"

// FuzzSocketAnswers checks that any answer of the kernel is read without a crash, and that the sum
// of one is not negative.
func FuzzSocketAnswers(f *testing.F) {
	f.Add([]byte{16, 0, 0, 0, 3, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0})
	f.Add(append([]byte{60, 0, 0, 0, 20, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 10, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 3, 0}, make([]byte, 24)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &Meter{seq: 1, max: 1 << 20}
		_, _ = m.answers(b, func(body []byte) {
			for _, q := range diagQueries {
				if n := q.weigh(m, body); n < 0 {
					t.Errorf("%d bytes", n)
				}
			}
		})
	})
}
