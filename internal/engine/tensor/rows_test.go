package tensor

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDotRows compares the kernels with 64-bit sums, for every remainder of rows, including numbers
// at the ends of their ranges and rows that begin at any address.
func TestDotRows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for _, cols := range []int{32, 64, 96, 384, 1024} {
		for count := range 11 {
			x, memory := make([]int16, cols), make([]byte, count*cols+3)
			for i := range x {
				x[i] = int16(r.IntN(1<<14) - 1<<13)
			}
			for i := range memory {
				memory[i] = byte(r.Uint32())
			}
			if count > 2 {
				x[0], x[cols-1] = -1<<13, 1<<13-1
				for i := range cols {
					memory[3+i], memory[3+cols+i] = 0x80, 0x7f
				}
			}
			rows := memory[3:]
			want, got := make([]int32, count), make([]int32, count)
			for i := range want {
				sum := int64(0)
				for j := range cols {
					sum += int64(int8(rows[i*cols+j])) * int64(x[j])
				}
				want[i] = int32(sum)
			}
			DotRows(got, rows, x)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%d rows of %d (-want +got):\n%s", count, cols, d)
			}
		}
	}
}

// TestDotRowsRefuses checks that arguments with wrong lengths are refused.
func TestDotRowsRefuses(t *testing.T) {
	for _, c := range []struct{ dst, rows, x int }{{1, 31, 31}, {2, 32, 32}, {1, 64, 32}, {1, 0, 32}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v was computed", c)
				}
			}()
			DotRows(make([]int32, c.dst), make([]byte, c.rows), make([]int16, c.x))
		}()
	}
	DotRows(nil, nil, make([]int16, 32))
}

// BenchmarkDotRows multiplies 200,000 rows of 384 on one core and on all. For comparison, it reads
// the same memory with the standard library's vectorised search: the ratio shows how close DotRows
// is to the memory limit.
func BenchmarkDotRows(b *testing.B) {
	const cols, count = 384, 200_000
	rows, x := make([]byte, cols*count), make([]int16, cols)
	for i := 0; i < len(rows); i += 8 {
		binary.LittleEndian.PutUint64(rows[i:], uint64(i)&0x7f7f7f7f7f7f7f7f)
	}
	for i := range x {
		x[i] = int16(i*37 - 7000)
	}
	dst := make([]int32, count)
	for _, workers := range []int{1, runtime.GOMAXPROCS(0)} {
		split := func(do func(lo, hi int)) {
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() { do(w*count/workers, (w+1)*count/workers) })
			}
			wg.Wait()
		}
		b.Run(fmt.Sprintf("read/workers=%d", workers), func(b *testing.B) {
			b.SetBytes(int64(len(rows)))
			for b.Loop() {
				split(func(lo, hi int) {
					if bytes.IndexByte(rows[lo*cols:hi*cols], 0x80) >= 0 {
						b.Error("found what is not there")
					}
				})
			}
		})
		b.Run(fmt.Sprintf("dot/workers=%d", workers), func(b *testing.B) {
			b.SetBytes(int64(len(rows)))
			b.ReportAllocs()
			for b.Loop() {
				split(func(lo, hi int) { DotRows(dst[lo:hi], rows[lo*cols:hi*cols], x) })
			}
		})
	}
}
