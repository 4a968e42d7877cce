#include "textflag.h"
#include "neon_arm64.h"

// The products of F32, F16 and BF16 weights. Each output is two chains, of even and of odd columns, added at the end. One and two
// tokens go through a panel once; four go through rows 0-7 and then rows 8-15, as the chains of all do not fit the registers.
// Vectors: 0-15 the chains, 16-21 weights, 24-27 four columns of each token. Registers: R2 columns left, R7-R10 the activations,
// R11-R14 where the sums go, R15 the weights, R16 and R17 the places of the half in weights and sums.

#define EACH1(m, x) m(x, 0, R7, R11, F24)
#define EACH2(m, x) EACH1(m, x); m(x, 1, R8, R12, F25)
#define EACH4(m, x) EACH2(m, x); m(x, 2, R9, R13, F26); m(x, 3, R10, R14, F27)

#define START(x, t, q, dst, act) MOVD (16+8*(t))(R0), q; MOVD (144+8*(t))(R0), dst; ADD R17, dst
#define LOAD4(x, t, q, dst, act) FMOVQ.P 16(q), act
#define LOAD1(x, t, q, dst, act) FMOVS.P 4(q), act

// Sixteen rows: four vectors for each chain.
#define CLEAR16(x, t, q, dst, act) \
	ZERO(8*(t)); ZERO(8*(t)+1); ZERO(8*(t)+2); ZERO(8*(t)+3); ZERO(8*(t)+4); ZERO(8*(t)+5); ZERO(8*(t)+6); ZERO(8*(t)+7)
#define CHAIN(sum, act, i) \
	FMLAI(sum, 16, act, i); FMLAI((sum)+1, 17, act, i); FMLAI((sum)+2, 18, act, i); FMLAI((sum)+3, 19, act, i)
#define EVEN16(i, t, q, dst, act) CHAIN(8*(t), 24+(t), i)
#define ODD16(i, t, q, dst, act) CHAIN(8*(t)+4, 24+(t), i)
#define ADD16TO(d, t) \
	FADD4(d, 8*(t), 8*(t)+4); FADD4((d)+1, 8*(t)+1, 8*(t)+5); \
	FADD4((d)+2, 8*(t)+2, 8*(t)+6); FADD4((d)+3, 8*(t)+3, 8*(t)+7)
#define END16(x, t, q, dst, act) ADD16TO(16, t); FSTPQ (F16, F17), (dst); FSTPQ (F18, F19), 32(dst)

// Eight rows: two vectors for each chain.
#define CLEAR8(x, t, q, dst, act) ZERO(4*(t)); ZERO(4*(t)+1); ZERO(4*(t)+2); ZERO(4*(t)+3)
#define EVEN8(i, t, q, dst, act) FMLAI(4*(t), 16, 24+(t), i); FMLAI(4*(t)+1, 17, 24+(t), i)
#define ODD8(i, t, q, dst, act) FMLAI(4*(t)+2, 16, 24+(t), i); FMLAI(4*(t)+3, 17, 24+(t), i)
#define END8(x, t, q, dst, act) FADD4(16, 4*(t), 4*(t)+2); FADD4(17, 4*(t)+1, 4*(t)+3); FSTPQ (F16, F17), (dst)

// A column of weights at off.
#define F32x16(off) FLDPQ off(R15), (F16, F17); FLDPQ (off+32)(R15), (F18, F19)
#define F32x8(off) FLDPQ off(R15), (F16, F17)
#define F16x16(off) FLDPQ off(R15), (F20, F21); FCVTL(16, 20); FCVTL2(17, 20); FCVTL(18, 21); FCVTL2(19, 21)
#define F16x8(off) FMOVQ off(R15), F20; FCVTL(16, 20); FCVTL2(17, 20)
#define BF16x16(off) FLDPQ off(R15), (F20, F21); SHLL16(16, 20); SHLL216(17, 20); SHLL16(18, 21); SHLL216(19, 21)
#define BF16x8(off) FMOVQ off(R15), F20; SHLL16(16, 20); SHLL216(17, 20)

// COLUMNS is the product of the rows at R15, size bytes a column over 16 rows.
#define COLUMNS(each, column, size, clear, even, odd, end) \
	MOVD 8(R0), R2; \
	each(START, 0); \
	each(clear, 0); \
	SUBS $4, R2; \
	BLT  rest; \
four: \
	each(LOAD4, 0); \
	column(0*size); each(even, 0); \
	column(1*size); each(odd, 1); \
	column(2*size); each(even, 2); \
	column(3*size); each(odd, 3); \
	ADD  $(4*size), R15; \
	SUBS $4, R2; \
	BGE  four; \
rest: \
	ADDS $4, R2; \
	BEQ  done; \
	each(LOAD1, 0); column(0*size); each(even, 0); \
	SUBS $1, R2; \
	BEQ  done; \
	each(LOAD1, 0); column(1*size); each(odd, 0); \
	SUBS $1, R2; \
	BEQ  done; \
	each(LOAD1, 0); column(2*size); each(even, 0); \
done: \
	each(end, 0)

#define WHOLE(each, column, size) \
	MOVD (R0), R15; \
	MOVD $0, R17; \
	COLUMNS(each, column, size, CLEAR16, EVEN16, ODD16, END16)

#define HALVES4(column, size) \
	MOVD $0, R16; \
	MOVD $0, R17; \
half: \
	MOVD (R0), R15; \
	ADD  R16, R15; \
	COLUMNS(EACH4, column, size, CLEAR8, EVEN8, ODD8, END8); \
	ADD  $(size/2), R16; \
	ADD  $32, R17; \
	CMP  $64, R17; \
	BLT  half

// func neonF32x1(c *byte)
TEXT ·neonF32x1(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	WHOLE(EACH1, F32x16, 64)
	RET

// func neonF32x2(c *byte)
TEXT ·neonF32x2(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	WHOLE(EACH2, F32x16, 64)
	RET

// func neonF32x4(c *byte)
TEXT ·neonF32x4(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	HALVES4(F32x8, 64)
	RET

// func neonF16x1(c *byte)
TEXT ·neonF16x1(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	WHOLE(EACH1, F16x16, 32)
	RET

// func neonF16x2(c *byte)
TEXT ·neonF16x2(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	WHOLE(EACH2, F16x16, 32)
	RET

// func neonF16x4(c *byte)
TEXT ·neonF16x4(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	HALVES4(F16x8, 32)
	RET

// func neonBF16x1(c *byte)
TEXT ·neonBF16x1(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	WHOLE(EACH1, BF16x16, 32)
	RET

// func neonBF16x2(c *byte)
TEXT ·neonBF16x2(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	WHOLE(EACH2, BF16x16, 32)
	RET

// func neonBF16x4(c *byte)
TEXT ·neonBF16x4(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	HALVES4(BF16x8, 32)
	RET

