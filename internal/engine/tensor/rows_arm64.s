#include "textflag.h"
#include "neon_arm64.h"

// smlal vd.4s, vn.4h, vm.4h
#define SMLALV(d, n, m) MRRR(0x0e608000, d, n, m)
// smlal2 vd.4s, vn.8h, vm.8h
#define SMLALV2(d, n, m) MRRR(0x4e608000, d, n, m)

// Sixteen columns of a row, in vector r, with those of x in vectors 16 and 17; sums in 20 to 23.
#define COLUMNS(r, a, b) \
	SXTLB(4, r); SXTLB2(5, r); \
	SMLALV(20, 4, a); SMLALV2(21, 4, a); \
	SMLALV(22, 5, b); SMLALV2(23, 5, b)

// func dotRowsNEON(dst *int32, rows *int8, x *int16, cols, count int)
TEXT ·dotRowsNEON(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD rows+8(FP), R1
	MOVD x+16(FP), R2
	MOVD cols+24(FP), R3
	MOVD count+32(FP), R4
row:
	MOVD R2, R5
	MOVD R3, R6
	ZERO(20); ZERO(21); ZERO(22); ZERO(23)
columns:
	FLDPQ.P 32(R1), (F0, F1)
	FLDPQ.P 32(R5), (F16, F17)
	FLDPQ.P 32(R5), (F18, F19)
	COLUMNS(0, 16, 17)
	COLUMNS(1, 18, 19)
	SUBS $32, R6
	BNE  columns
	VADD  V20.S4, V21.S4, V20.S4
	VADD  V22.S4, V23.S4, V22.S4
	VADD  V20.S4, V22.S4, V20.S4
	VADDV V20.S4, V20
	FMOVS.P F20, 4(R0)
	SUBS $1, R4
	BNE  row
	RET
