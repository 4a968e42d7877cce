#include "textflag.h"
#include "go_asm.h"
#include "neon_arm64.h"

// Tiles of matrix products: 16 columns in four vectors. Sums of row r are in vectors 4r to 4r+3, columns of B in 16-19,
// numbers of A in 20-23; alpha and beta are in 24 and 25.

#define SUMS(r, f) FMLAI(4*r, 16, f, 0); FMLAI(4*r+1, 17, f, 0); FMLAI(4*r+2, 18, f, 0); FMLAI(4*r+3, 19, f, 0)
#define CLEAR(r) ZERO(4*r); ZERO(4*r+1); ZERO(4*r+2); ZERO(4*r+3)
#define ALPHA(r) FMULI(4*r, 4*r, 24, 0); FMULI(4*r+1, 4*r+1, 24, 0); FMULI(4*r+2, 4*r+2, 24, 0); FMULI(4*r+3, 4*r+3, 24, 0)
// A row of C at R9, added to the sums of row r beta times.
#define BETA(r) \
	FLDPQ (R9), (F16, F17); \
	FLDPQ 32(R9), (F18, F19); \
	SUMS(r, 25); \
	ADD   R10, R9
// The sums of a row to C at R8.
#define KEEP(a, b, c, d) \
	FSTPQ (a, b), (R8); \
	FSTPQ (c, d), 32(R8); \
	ADD   R10, R8

#define ARGS \
	MOVD t+0(FP), R0; \
	MOVD gemmTile_a(R0), R1; \
	MOVD gemmTile_b(R0), R2; \
	MOVD gemmTile_c(R0), R8; \
	MOVD R8, R9; \
	MOVD gemmTile_rowA(R0), R11; \
	MOVD gemmTile_stepA(R0), R6; \
	MOVD gemmTile_stepB(R0), R7; \
	MOVD gemmTile_rowC(R0), R10; \
	MOVD gemmTile_k(R0), R3; \
	FMOVS gemmTile_alpha(R0), F24; \
	FMOVS gemmTile_beta(R0), F25

// func gemmTileNEON4(t *gemmTile)
TEXT ·gemmTileNEON4(SB), NOSPLIT, $0-8
	ARGS
	ADD R11, R1, R4
	ADD R11, R4, R5
	ADD R11, R5, R12
	CLEAR(0); CLEAR(1); CLEAR(2); CLEAR(3)
step:
	FLDPQ (R2), (F16, F17)
	FLDPQ 32(R2), (F18, F19)
	FMOVS (R1), F20
	FMOVS (R4), F21
	FMOVS (R5), F22
	FMOVS (R12), F23
	ADD   R7, R2
	ADD   R6, R1
	ADD   R6, R4
	ADD   R6, R5
	ADD   R6, R12
	SUMS(0, 20)
	SUMS(1, 21)
	SUMS(2, 22)
	SUMS(3, 23)
	SUBS  $1, R3
	BNE   step
	ALPHA(0)
	ALPHA(1)
	ALPHA(2)
	ALPHA(3)
	FCMPS $(0.0), F25
	BEQ   keep
	BETA(0)
	BETA(1)
	BETA(2)
	BETA(3)
keep:
	KEEP(F0, F1, F2, F3)
	KEEP(F4, F5, F6, F7)
	KEEP(F8, F9, F10, F11)
	KEEP(F12, F13, F14, F15)
	RET

// func gemmTileNEON1(t *gemmTile)
TEXT ·gemmTileNEON1(SB), NOSPLIT, $0-8
	ARGS
	CLEAR(0)
step:
	FLDPQ (R2), (F16, F17)
	FLDPQ 32(R2), (F18, F19)
	FMOVS (R1), F20
	ADD   R7, R2
	ADD   R6, R1
	SUMS(0, 20)
	SUBS  $1, R3
	BNE   step
	ALPHA(0)
	FCMPS $(0.0), F25
	BEQ   keep
	BETA(0)
keep:
	KEEP(F0, F1, F2, F3)
	RET
