package tensor

//go:noescape
func tileMulF32x1(dst *float32, ds int, a *float32, as int, b *float32, bs, n int, fix *float32)

//go:noescape
func tileMulF32x2(dst *float32, ds int, a *float32, as int, b *float32, bs, n int, fix *float32)

//go:noescape
func tileMulF16x1(dst *float32, ds int, a *float32, as int, b *uint16, bs, n int, fix *float32)

//go:noescape
func tileMulF16x2(dst *float32, ds int, a *float32, as int, b *uint16, bs, n int, fix *float32)

//go:noescape
func tileMulI8x1(dst *float32, ds int, a *float32, as int, b *int8, bs, n int, fix *float32)

//go:noescape
func tileMulI8x2(dst *float32, ds int, a *float32, as int, b *int8, bs, n int, fix *float32)

//go:noescape
func dotScoresx1(dst *float32, q *int8, qs *float32, keys *byte, ks *uint16, blocks int)

//go:noescape
func dotScoresx2(dst *float32, q *int8, qs *float32, keys *byte, ks *uint16, blocks int)

//go:noescape
func neonScoresx1(dst *float32, q *int8, qs *float32, keys *byte, ks *uint16, blocks int)

//go:noescape
func neonScoresx2(dst *float32, q *int8, qs *float32, keys *byte, ks *uint16, blocks int)

//go:noescape
func scaleRowsNEON(dst, weights *float32, scales *uint16, rows int)
