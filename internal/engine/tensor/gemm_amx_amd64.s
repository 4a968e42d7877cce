#include "textflag.h"

// Go's assembler does not know these instructions yet (Intel, Instruction Set Extensions Programming Reference, chapter 3).
#define LDTILECFG_R8    BYTE $0xc4; BYTE $0xc2; BYTE $0x78; BYTE $0x49; BYTE $0x00
#define TILERELEASE     BYTE $0xc4; BYTE $0xe2; BYTE $0x78; BYTE $0x49; BYTE $0xc0
#define TILEZERO(t)     BYTE $0xc4; BYTE $0xe2; BYTE $0x7b; BYTE $0x49; BYTE $(0xc0 | (t << 3))

// The tile's rows lie at base+i*CX or base+i*SI.
#define LOAD_CX(t, base)      BYTE $0xc4; BYTE $0xe2; BYTE $0x7b; BYTE $0x4b; BYTE $(0x04 | (t << 3)); BYTE $(0x08 | base)
#define LOAD_CX_1K(t, base)   BYTE $0xc4; BYTE $0xe2; BYTE $0x7b; BYTE $0x4b; BYTE $(0x84 | (t << 3)); BYTE $(0x08 | base); LONG $1024
#define LOAD_SI(t, base)      BYTE $0xc4; BYTE $0xe2; BYTE $0x7b; BYTE $0x4b; BYTE $(0x04 | (t << 3)); BYTE $(0x30 | base)
#define LOAD_SI_64(t, base)   BYTE $0xc4; BYTE $0xe2; BYTE $0x7b; BYTE $0x4b; BYTE $(0x44 | (t << 3)); BYTE $(0x30 | base); BYTE $64
#define STORE_SI(t, base)     BYTE $0xc4; BYTE $0xe2; BYTE $0x7a; BYTE $0x4b; BYTE $(0x04 | (t << 3)); BYTE $(0x30 | base)
#define STORE_SI_64(t, base)  BYTE $0xc4; BYTE $0xe2; BYTE $0x7a; BYTE $0x4b; BYTE $(0x44 | (t << 3)); BYTE $(0x30 | base); BYTE $64
#define rAX 0
#define rBX 3
#define rDX 2
#define rDI 7

// TDPBF16PS c += a·b
#define DOT(c, a, b)    BYTE $0xc4; BYTE $0xe2; BYTE $(0x02 | ((15 - b) << 3)); BYTE $0x5c; BYTE $(0xc0 | (c << 3) | a)

// Eight tiles of 16 rows of 64 bytes.
DATA tiles<>+0(SB)/8, $1
DATA tiles<>+8(SB)/8, $0
DATA tiles<>+16(SB)/8, $0x0040004000400040
DATA tiles<>+24(SB)/8, $0x0040004000400040
DATA tiles<>+32(SB)/8, $0
DATA tiles<>+40(SB)/8, $0
DATA tiles<>+48(SB)/8, $0x1010101010101010
DATA tiles<>+56(SB)/8, $0
GLOBL tiles<>(SB), RODATA|NOPTR, $64

// func amxBlocks(t *amxTask)
TEXT ·amxBlocks(SB), NOSPLIT, $0-8
	MOVQ t+0(FP), R15
	LEAQ tiles<>(SB), R8
	LDTILECFG_R8
	MOVQ $64, CX
	MOVQ 24(R15), SI  // bytes between rows of C
	MOVQ 32(R15), R9  // steps of 32
	MOVQ R9, R10
	SHLQ $11, R10     // bytes of a panel
	MOVQ SI, R11
	SHLQ $4, R11      // bytes of 16 rows of C
	MOVQ 48(R15), R14 // panels of B left
	MOVQ 8(R15), R13  // panel of B
	MOVQ 16(R15), R12 // C
columns:
	MOVQ (R15), AX
	MOVQ R12, DX
	MOVQ 40(R15), R8  // panels of A left
rows:
	LEAQ (DX)(R11*1), DI
	CMPQ 56(R15), $0
	JNE  sum
	TILEZERO(0)
	TILEZERO(1)
	TILEZERO(2)
	TILEZERO(3)
	JMP  begin
sum:
	LOAD_SI(0, rDX)
	LOAD_SI_64(1, rDX)
	LOAD_SI(2, rDI)
	LOAD_SI_64(3, rDI)
begin:
	MOVQ R13, BX
	MOVQ R9, DI
step:
	LOAD_CX(4, rAX)
	LOAD_CX(6, rBX)
	DOT(0, 4, 6)
	LOAD_CX_1K(7, rBX)
	DOT(1, 4, 7)
	LOAD_CX_1K(5, rAX)
	DOT(2, 5, 6)
	DOT(3, 5, 7)
	ADDQ $2048, AX
	ADDQ $2048, BX
	DECQ DI
	JNZ  step
	LEAQ (DX)(R11*1), DI
	STORE_SI(0, rDX)
	STORE_SI_64(1, rDX)
	STORE_SI(2, rDI)
	STORE_SI_64(3, rDI)
	LEAQ (DI)(R11*1), DX
	DECQ R8
	JNZ  rows
	ADDQ R10, R13
	ADDQ $128, R12
	DECQ R14
	JNZ  columns
	TILERELEASE
	RET
