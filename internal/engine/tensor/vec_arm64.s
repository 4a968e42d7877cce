#include "textflag.h"
#include "neon_arm64.h"

// Vector kernels; n is a multiple of 16 and not 0. Rows of numbers are in vectors 0-3 (and 4-7).

#define LOAD16(p, a, b, c, d) FLDPQ.P 32(p), (a, b); FLDPQ.P 32(p), (c, d)
#define STORE16(p, a, b, c, d) FSTPQ.P (a, b), 32(p); FSTPQ.P (c, d), 32(p)
#define LOOP(n) \
	SUBS $16, n; \
	BNE  loop

// func addToNEON(dst, x *float32, n int)
TEXT ·addToNEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD x+8(FP), R1
	MOVD n+16(FP), R2
	MOVD R0, R3
loop:
	LOAD16(R3, F0, F1, F2, F3)
	LOAD16(R1, F4, F5, F6, F7)
	FADD4(0, 0, 4); FADD4(1, 1, 5); FADD4(2, 2, 6); FADD4(3, 3, 7)
	STORE16(R0, F0, F1, F2, F3)
	LOOP(R2)
	RET

// func axpyNEON(dst, x *float32, n int, a float32)
TEXT ·axpyNEON(SB), NOSPLIT, $0-28
	MOVD  dst+0(FP), R0
	MOVD  x+8(FP), R1
	MOVD  n+16(FP), R2
	FMOVS a+24(FP), F16
	MOVD  R0, R3
loop:
	LOAD16(R3, F0, F1, F2, F3)
	LOAD16(R1, F4, F5, F6, F7)
	FMLAI(0, 4, 16, 0); FMLAI(1, 5, 16, 0); FMLAI(2, 6, 16, 0); FMLAI(3, 7, 16, 0)
	STORE16(R0, F0, F1, F2, F3)
	LOOP(R2)
	RET

// func mulScaledNEON(dst, x, w *float32, n int, scale float32)
TEXT ·mulScaledNEON(SB), NOSPLIT, $0-36
	MOVD  dst+0(FP), R0
	MOVD  x+8(FP), R1
	MOVD  w+16(FP), R3
	MOVD  n+24(FP), R2
	FMOVS scale+32(FP), F16
loop:
	LOAD16(R1, F0, F1, F2, F3)
	LOAD16(R3, F4, F5, F6, F7)
	FMULI(0, 0, 16, 0); FMULI(1, 1, 16, 0); FMULI(2, 2, 16, 0); FMULI(3, 3, 16, 0)
	FMUL4(0, 0, 4); FMUL4(1, 1, 5); FMUL4(2, 2, 6); FMUL4(3, 3, 7)
	STORE16(R0, F0, F1, F2, F3)
	LOOP(R2)
	RET

// func sumSquaresNEON(x *float32, n int) float64
TEXT ·sumSquaresNEON(SB), NOSPLIT, $0-24
	MOVD x+0(FP), R1
	MOVD n+8(FP), R2
	ZERO(16); ZERO(17); ZERO(18); ZERO(19); ZERO(20); ZERO(21); ZERO(22); ZERO(23)
loop:
	LOAD16(R1, F0, F1, F2, F3)
	FCVTLD2(4, 0); FCVTLD2(5, 1); FCVTLD2(6, 2); FCVTLD2(7, 3)
	FCVTLD(0, 0); FCVTLD(1, 1); FCVTLD(2, 2); FCVTLD(3, 3)
	FMLAD(16, 0, 0); FMLAD(17, 1, 1); FMLAD(18, 2, 2); FMLAD(19, 3, 3)
	FMLAD(20, 4, 4); FMLAD(21, 5, 5); FMLAD(22, 6, 6); FMLAD(23, 7, 7)
	LOOP(R2)
	FADDD2(16, 16, 20); FADDD2(17, 17, 21); FADDD2(18, 18, 22); FADDD2(19, 19, 23)
	FADDD2(16, 16, 18); FADDD2(17, 17, 19); FADDD2(16, 16, 17)
	FADDPD(0, 16)
	FMOVD F0, ret+16(FP)
	RET

// func toHalfNEON(dst *uint16, x *float32, n int)
TEXT ·toHalfNEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD x+8(FP), R1
	MOVD n+16(FP), R2
loop:
	LOAD16(R1, F0, F1, F2, F3)
	FCVTN(4, 0); FCVTN2(4, 1); FCVTN(5, 2); FCVTN2(5, 3)
	FSTPQ.P (F4, F5), 32(R0)
	LOOP(R2)
	RET

// func fromHalfNEON(dst *float32, x *uint16, n int)
TEXT ·fromHalfNEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD x+8(FP), R1
	MOVD n+16(FP), R2
loop:
	FLDPQ.P 32(R1), (F4, F5)
	FCVTL(0, 4); FCVTL2(1, 4); FCVTL(2, 5); FCVTL2(3, 5)
	STORE16(R0, F0, F1, F2, F3)
	LOOP(R2)
	RET

// func finiteNEON(x *float32, n int) bool
TEXT ·finiteNEON(SB), NOSPLIT, $0-17
	MOVD x+0(FP), R1
	MOVD n+8(FP), R2
	ZERO(16)
loop: // x-x is 0 or no number
	LOAD16(R1, F0, F1, F2, F3)
	FSUB4(0, 0, 0); FSUB4(1, 1, 1); FSUB4(2, 2, 2); FSUB4(3, 3, 3)
	ORR16(0, 0, 1); ORR16(2, 2, 3); ORR16(0, 0, 2); ORR16(16, 16, 0)
	LOOP(R2)
	UMAXV(0, 16)
	FMOVS F0, R0
	CMPW  $0, R0
	CSET  EQ, R0
	MOVB  R0, ret+16(FP)
	RET

// func peaksNEON(x *float32, n int) (low, high float32)
TEXT ·peaksNEON(SB), NOSPLIT, $0-24
	MOVD  x+0(FP), R1
	MOVD  n+8(FP), R2
	FMOVQ (R1), F16
	MOV16(17, 16)
loop:
	LOAD16(R1, F0, F1, F2, F3)
	FMIN4(4, 0, 1); FMIN4(5, 2, 3); FMAX4(0, 0, 1); FMAX4(2, 2, 3)
	FMIN4(4, 4, 5); FMAX4(0, 0, 2); FMIN4(16, 16, 4); FMAX4(17, 17, 0)
	LOOP(R2)
	FMINV(16, 16); FMAXV(17, 17)
	FMOVS F16, low+16(FP)
	FMOVS F17, high+20(FP)
	RET

// func roundNEON(q *byte, sums *int16, x *float32, n int, scale float32)
TEXT ·roundNEON(SB), NOSPLIT, $0-36
	MOVD  q+0(FP), R0
	MOVD  sums+8(FP), R3
	MOVD  x+16(FP), R1
	MOVD  n+24(FP), R2
	FMOVS scale+32(FP), F16
loop:
	LOAD16(R1, F0, F1, F2, F3)
	FMULI(0, 0, 16, 0); FMULI(1, 1, 16, 0); FMULI(2, 2, 16, 0); FMULI(3, 3, 16, 0)
	FCVTNS4(0, 0); FCVTNS4(1, 1); FCVTNS4(2, 2); FCVTNS4(3, 3)
	SQXTNH(0, 0); SQXTNH2(0, 1); SQXTNH(2, 2); SQXTNH2(2, 3)
	SQXTNB(0, 0); SQXTNB2(0, 2)
	FMOVQ.P F0, 16(R0)
	SADDLV(1, 0)
	FMOVS F1, R4
	MOVH.P R4, 2(R3)
	LOOP(R2)
	RET

DATA expNEON<>+0(SB)/4, $1.44269504
DATA expNEON<>+4(SB)/4, $0.693359375
DATA expNEON<>+8(SB)/4, $-2.12194440e-4
DATA expNEON<>+12(SB)/4, $1.9875691500e-4
DATA expNEON<>+16(SB)/4, $1.3981999507e-3
DATA expNEON<>+20(SB)/4, $8.3334519073e-3
DATA expNEON<>+24(SB)/4, $4.1665795894e-2
DATA expNEON<>+28(SB)/4, $1.6666665459e-1
DATA expNEON<>+32(SB)/4, $0.5
DATA expNEON<>+36(SB)/4, $1.0
DATA expNEON<>+40(SB)/4, $127
DATA expNEON<>+44(SB)/4, $88.72283
DATA expNEON<>+48(SB)/4, $-87.33654
DATA expNEON<>+52(SB)/4, $0x7f800000
DATA expNEON<>+56(SB)/4, $0
DATA expNEON<>+60(SB)/4, $0
GLOBL expNEON<>(SB), RODATA|NOPTR, $64

// EXPSTART loads the constants of EXP into 16-29.
#define EXPSTART \
	MOVD $expNEON<>(SB), R9; \
	LOAD16(R9, F0, F1, F2, F3); \
	DUP4(16, 0, 0); DUP4(17, 0, 1); DUP4(18, 0, 2); DUP4(19, 0, 3); \
	DUP4(20, 1, 0); DUP4(21, 1, 1); DUP4(22, 1, 2); DUP4(23, 1, 3); \
	DUP4(24, 2, 0); DUP4(25, 2, 1); DUP4(26, 2, 2); DUP4(27, 2, 3); \
	DUP4(28, 3, 0); DUP4(29, 3, 1)

// EXP replaces x by e^x as Exp does; n, r, p and y are scratch.
#define EXP(x, n, r, p, y) \
	FMUL4(n, x, 16); FRINTN4(n, n); \
	MOV16(r, x); FMLS4(r, n, 17); FMLS4(r, n, 18); \
	MOV16(p, 20); FMLA4(p, 19, r); \
	MOV16(y, 21); FMLA4(y, p, r); \
	MOV16(p, 22); FMLA4(p, y, r); \
	MOV16(y, 23); FMLA4(y, p, r); \
	MOV16(p, 24); FMLA4(p, y, r); \
	FMUL4(y, r, r); FMLA4(r, p, y); FADD4(r, r, 25); \
	FCVTNS4(n, n); SSHRS(p, n, 1); SUB4(n, n, p); \
	ADD4(p, p, 26); ADD4(n, n, 26); SHLS(p, p, 23); SHLS(n, n, 23); \
	FMUL4(r, r, p); FMUL4(r, r, n); \
	FCMGT4(p, 28, x); BIC16(r, r, p); \
	FCMGT4(p, x, 27); BIT16(r, 29, p); \
	MOV16(x, r)

// func swiGLUNEON(dst, gate, up *float32, n int)
TEXT ·swiGLUNEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD gate+8(FP), R1
	MOVD up+16(FP), R3
	MOVD n+24(FP), R2
	EXPSTART
loop:
	FLDPQ.P 32(R1), (F0, F1)
	FNEG4(2, 0); FNEG4(3, 1)
	EXP(2, 4, 5, 6, 7)
	EXP(3, 8, 9, 10, 11)
	FADD4(2, 2, 25); FADD4(3, 3, 25)
	FLDPQ.P 32(R3), (F4, F5)
	FDIV4(0, 0, 2); FDIV4(1, 1, 3)
	FMUL4(0, 0, 4); FMUL4(1, 1, 5)
	FSTPQ.P (F0, F1), 32(R0)
	SUBS $8, R2
	BNE  loop
	RET

DATA indexNEON<>+0(SB)/4, $0
DATA indexNEON<>+4(SB)/4, $1
DATA indexNEON<>+8(SB)/4, $2
DATA indexNEON<>+12(SB)/4, $3
GLOBL indexNEON<>(SB), RODATA|NOPTR, $16

// RANGE starts the positions of 4 scores in 12, their step in 13 and the range in 14 and 15.
#define RANGE(lo, hi) \
	MOVD  $indexNEON<>(SB), R9; \
	FMOVQ (R9), F12; \
	MOVD  $4, R9; \
	VDUP  R9, V13.S4; \
	VDUP  lo, V14.S4; \
	VDUP  hi, V15.S4

// INRANGE sets the lanes of m whose positions are in the range and goes on to the next 4.
#define INRANGE(m, scratch) \
	CMGE4(m, 12, 14); CMGT4(scratch, 15, 12); AND16(m, m, scratch); ADD4(12, 12, 13)

// func softTopNEON(row *float32, lo, hi int32, scale, top float32) float32
TEXT ·softTopNEON(SB), NOSPLIT, $0-28
	MOVD  row+0(FP), R0
	MOVW  lo+8(FP), R1
	MOVW  hi+12(FP), R2
	FMOVS scale+16(FP), F16
	FMOVS top+20(FP), F17
	DUP4(17, 17, 0)
	MOV16(18, 17)
	RANGE(R1, R2)
	MOVD  $8, R3
loop:
	FMOVQ (R0), F0
	FMULI(0, 0, 16, 0)
	FMOVQ.P F0, 16(R0)
	INRANGE(1, 2)
	MOV16(3, 17); BIT16(3, 0, 1)
	FMAX4(18, 18, 3)
	SUBS $1, R3
	BNE  loop
	FMAXV(0, 18)
	FMOVS F0, ret+24(FP)
	RET

// func softWeightsNEON(row *float32, lo, hi int32, top float32) float32
TEXT ·softWeightsNEON(SB), NOSPLIT, $0-28
	MOVD  row+0(FP), R0
	MOVW  lo+8(FP), R1
	MOVW  hi+12(FP), R2
	EXPSTART
	RANGE(R1, R2)
	FMOVS top+16(FP), F30
	DUP4(30, 30, 0)
	ZERO(31)
	MOVD  $8, R3
loop:
	FMOVQ (R0), F0
	FSUB4(0, 0, 30)
	EXP(0, 4, 5, 6, 7)
	INRANGE(1, 2)
	AND16(0, 0, 1)
	FADD4(31, 31, 0)
	FMOVQ.P F0, 16(R0)
	SUBS $1, R3
	BNE  loop
	FADDP4(31, 31, 31); FADDP4(31, 31, 31)
	FMOVS F31, ret+24(FP)
	RET
