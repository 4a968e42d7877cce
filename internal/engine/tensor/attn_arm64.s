#include "textflag.h"
#include "neon_arm64.h"

// dst[r][j] = fix[r]·dst[r][j] + Σₖ a[r][k]·b[k][j] for 32 columns j and one or two rows r, fix being 0 where there is none.
// Vectors: 0-15 the sums, 16-23 a row of b, 30 and 31 the numbers of a. Registers: R0 dst, R1 its stride, R2 a, R3 its stride
// and then its second row, R4 b, R5 its stride, R6 steps, R7 fix, R8 the second row of dst. Strides are in bytes.

#define ROW1(m) m(0, R0, R2, F30)
#define ROW2(m) ROW1(m); m(1, R8, R3, F31)

#define ZEROSUMS(t, dst, a, x) \
	ZERO(8*(t)); ZERO(8*(t)+1); ZERO(8*(t)+2); ZERO(8*(t)+3); ZERO(8*(t)+4); ZERO(8*(t)+5); ZERO(8*(t)+6); ZERO(8*(t)+7)
#define FIXSUMS(t, dst, a, x) \
	FLDPQ (dst), (F16, F17); FLDPQ 32(dst), (F18, F19); FLDPQ 64(dst), (F20, F21); FLDPQ 96(dst), (F22, F23); \
	FMOVS (4*(t))(R7), x; \
	FMULI(8*(t), 16, 30+(t), 0); FMULI(8*(t)+1, 17, 30+(t), 0); FMULI(8*(t)+2, 18, 30+(t), 0); FMULI(8*(t)+3, 19, 30+(t), 0); \
	FMULI(8*(t)+4, 20, 30+(t), 0); FMULI(8*(t)+5, 21, 30+(t), 0); FMULI(8*(t)+6, 22, 30+(t), 0); FMULI(8*(t)+7, 23, 30+(t), 0)
#define STEP(t, dst, a, x) \
	FMOVS.P 4(a), x; \
	FMLAI(8*(t), 16, 30+(t), 0); FMLAI(8*(t)+1, 17, 30+(t), 0); FMLAI(8*(t)+2, 18, 30+(t), 0); FMLAI(8*(t)+3, 19, 30+(t), 0); \
	FMLAI(8*(t)+4, 20, 30+(t), 0); FMLAI(8*(t)+5, 21, 30+(t), 0); FMLAI(8*(t)+6, 22, 30+(t), 0); FMLAI(8*(t)+7, 23, 30+(t), 0)
#define MOVESUMS(t, dst, a, x) \
	MOV16(16, 8*(t)); MOV16(17, 8*(t)+1); MOV16(18, 8*(t)+2); MOV16(19, 8*(t)+3); \
	MOV16(20, 8*(t)+4); MOV16(21, 8*(t)+5); MOV16(22, 8*(t)+6); MOV16(23, 8*(t)+7); \
	FSTPQ (F16, F17), (dst); FSTPQ (F18, F19), 32(dst); FSTPQ (F20, F21), 64(dst); FSTPQ (F22, F23), 96(dst)

// A row of b.
#define LOADF32 \
	FLDPQ (R4), (F16, F17); FLDPQ 32(R4), (F18, F19); FLDPQ 64(R4), (F20, F21); FLDPQ 96(R4), (F22, F23)
#define LOADF16 \
	FLDPQ (R4), (F24, F25); FLDPQ 32(R4), (F26, F27); \
	FCVTL(16, 24); FCVTL2(17, 24); FCVTL(18, 25); FCVTL2(19, 25); FCVTL(20, 26); FCVTL2(21, 26); FCVTL(22, 27); FCVTL2(23, 27)
#define LOADI8 \
	FLDPQ (R4), (F24, F25); \
	SXTLB(26, 24); SXTLB2(27, 24); SXTLB(28, 25); SXTLB2(29, 25); \
	SXTL(16, 26); SXTL2(17, 26); SXTL(18, 27); SXTL2(19, 27); SXTL(20, 28); SXTL2(21, 28); SXTL(22, 29); SXTL2(23, 29); \
	SCVTF4(16, 16); SCVTF4(17, 17); SCVTF4(18, 18); SCVTF4(19, 19); SCVTF4(20, 20); SCVTF4(21, 21); SCVTF4(22, 22); SCVTF4(23, 23)

#define TILE(rows, load) \
	ADD  R1, R0, R8; \
	ADD  R2, R3, R3; \
	CBNZ R7, fix; \
	rows(ZEROSUMS); \
	JMP  check; \
fix: \
	rows(FIXSUMS); \
check: \
	CBZ  R6, done; \
step: \
	load; \
	rows(STEP); \
	ADD  R5, R4; \
	SUB  $1, R6; \
	CBNZ R6, step; \
done: \
	rows(MOVESUMS)

// func tileMulF32x1(dst *float32, ds int, a *float32, as int, b *float32, bs, n int, fix *float32)
TEXT ·tileMulF32x1(SB), NOSPLIT, $0-64
	MOVD dst+0(FP), R0
	MOVD ds+8(FP), R1
	MOVD a+16(FP), R2
	MOVD as+24(FP), R3
	MOVD b+32(FP), R4
	MOVD bs+40(FP), R5
	MOVD n+48(FP), R6
	MOVD fix+56(FP), R7
	TILE(ROW1, LOADF32)
	RET

// func tileMulF32x2(dst *float32, ds int, a *float32, as int, b *float32, bs, n int, fix *float32)
TEXT ·tileMulF32x2(SB), NOSPLIT, $0-64
	MOVD dst+0(FP), R0
	MOVD ds+8(FP), R1
	MOVD a+16(FP), R2
	MOVD as+24(FP), R3
	MOVD b+32(FP), R4
	MOVD bs+40(FP), R5
	MOVD n+48(FP), R6
	MOVD fix+56(FP), R7
	TILE(ROW2, LOADF32)
	RET

// func tileMulF16x1(dst *float32, ds int, a *float32, as int, b *uint16, bs, n int, fix *float32)
TEXT ·tileMulF16x1(SB), NOSPLIT, $0-64
	MOVD dst+0(FP), R0
	MOVD ds+8(FP), R1
	MOVD a+16(FP), R2
	MOVD as+24(FP), R3
	MOVD b+32(FP), R4
	MOVD bs+40(FP), R5
	MOVD n+48(FP), R6
	MOVD fix+56(FP), R7
	TILE(ROW1, LOADF16)
	RET

// func tileMulF16x2(dst *float32, ds int, a *float32, as int, b *uint16, bs, n int, fix *float32)
TEXT ·tileMulF16x2(SB), NOSPLIT, $0-64
	MOVD dst+0(FP), R0
	MOVD ds+8(FP), R1
	MOVD a+16(FP), R2
	MOVD as+24(FP), R3
	MOVD b+32(FP), R4
	MOVD bs+40(FP), R5
	MOVD n+48(FP), R6
	MOVD fix+56(FP), R7
	TILE(ROW2, LOADF16)
	RET

// func tileMulI8x1(dst *float32, ds int, a *float32, as int, b *int8, bs, n int, fix *float32)
TEXT ·tileMulI8x1(SB), NOSPLIT, $0-64
	MOVD dst+0(FP), R0
	MOVD ds+8(FP), R1
	MOVD a+16(FP), R2
	MOVD as+24(FP), R3
	MOVD b+32(FP), R4
	MOVD bs+40(FP), R5
	MOVD n+48(FP), R6
	MOVD fix+56(FP), R7
	TILE(ROW1, LOADI8)
	RET

// func tileMulI8x2(dst *float32, ds int, a *float32, as int, b *int8, bs, n int, fix *float32)
TEXT ·tileMulI8x2(SB), NOSPLIT, $0-64
	MOVD dst+0(FP), R0
	MOVD ds+8(FP), R1
	MOVD a+16(FP), R2
	MOVD as+24(FP), R3
	MOVD b+32(FP), R4
	MOVD bs+40(FP), R5
	MOVD n+48(FP), R6
	MOVD fix+56(FP), R7
	TILE(ROW2, LOADI8)
	RET

// func scaleRowsNEON(dst, weights *float32, scales *uint16, rows int)
TEXT ·scaleRowsNEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD weights+8(FP), R1
	MOVD scales+16(FP), R4
	MOVD rows+24(FP), R2
	LOADF16
row:
	FLDPQ.P 32(R1), (F0, F1)
	FLDPQ.P 32(R1), (F2, F3)
	FLDPQ.P 32(R1), (F4, F5)
	FLDPQ.P 32(R1), (F6, F7)
	FMUL4(0, 0, 16); FMUL4(1, 1, 17); FMUL4(2, 2, 18); FMUL4(3, 3, 19)
	FMUL4(4, 4, 20); FMUL4(5, 5, 21); FMUL4(6, 6, 22); FMUL4(7, 7, 23)
	FSTPQ.P (F0, F1), 32(R0)
	FSTPQ.P (F2, F3), 32(R0)
	FSTPQ.P (F4, F5), 32(R0)
	FSTPQ.P (F6, F7), 32(R0)
	SUBS $1, R2
	BNE  row
	RET
