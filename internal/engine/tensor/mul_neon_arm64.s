#include "textflag.h"
#include "neon_arm64.h"

// MAC adds the products of a step without SDOT: to 16 bits, neighbours added, then neighbours added to the 32-bit sums.
// Two products and their sum fit 16 bits, as rounded activations are never -128 (form.go).
#define MAC1(sum, w) SMULL(29, w, 28); SMULL2(30, w, 28); ADDPH(29, 29, 30); SADALP(sum, 29)
#define MAC(sum, act, i) DUP4(28, act, i); MAC1(sum, 16); MAC1((sum)+1, 17); MAC1((sum)+2, 18); MAC1((sum)+3, 19)

#include "mul_arm64.h"
#include "blocks_arm64.h"
#include "supers_arm64.h"
#include "attn_arm64.h"

// func neonQ80x1(c *byte)
TEXT ·neonQ80x1(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q80(EACH1)
	RET

// func neonQ80x2(c *byte)
TEXT ·neonQ80x2(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q80(EACH2)
	RET

// func neonQ80x4(c *byte)
TEXT ·neonQ80x4(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q80(EACH4)
	RET

// func neonQ40x1(c *byte)
TEXT ·neonQ40x1(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q40(EACH1)
	RET

// func neonQ40x2(c *byte)
TEXT ·neonQ40x2(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q40(EACH2)
	RET

// func neonQ40x4(c *byte)
TEXT ·neonQ40x4(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q40(EACH4)
	RET

// func neonQ41x1(c *byte)
TEXT ·neonQ41x1(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q41(EACH1)
	RET

// func neonQ41x2(c *byte)
TEXT ·neonQ41x2(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q41(EACH2)
	RET

// func neonQ41x4(c *byte)
TEXT ·neonQ41x4(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q41(EACH4)
	RET

// func neonQ50x1(c *byte)
TEXT ·neonQ50x1(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q50(EACH1)
	RET

// func neonQ50x2(c *byte)
TEXT ·neonQ50x2(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q50(EACH2)
	RET

// func neonQ50x4(c *byte)
TEXT ·neonQ50x4(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q50(EACH4)
	RET

// func neonQ51x1(c *byte)
TEXT ·neonQ51x1(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q51(EACH1)
	RET

// func neonQ51x2(c *byte)
TEXT ·neonQ51x2(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q51(EACH2)
	RET

// func neonQ51x4(c *byte)
TEXT ·neonQ51x4(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q51(EACH4)
	RET

// func neonIQ4NLx1(c *byte)
TEXT ·neonIQ4NLx1(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	IQ4NL(EACH1)
	RET

// func neonIQ4NLx2(c *byte)
TEXT ·neonIQ4NLx2(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	IQ4NL(EACH2)
	RET

// func neonIQ4NLx4(c *byte)
TEXT ·neonIQ4NLx4(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	IQ4NL(EACH4)
	RET

// func neonMXFP4x1(c *byte)
TEXT ·neonMXFP4x1(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	MXFP4(EACH1)
	RET

// func neonMXFP4x2(c *byte)
TEXT ·neonMXFP4x2(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	MXFP4(EACH2)
	RET

// func neonMXFP4x4(c *byte)
TEXT ·neonMXFP4x4(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	MXFP4(EACH4)
	RET

// func neonQ4Kx1(c *byte)
TEXT ·neonQ4Kx1(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q4K(EACH1)
	RET

// func neonQ4Kx2(c *byte)
TEXT ·neonQ4Kx2(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q4K(EACH2)
	RET

// func neonQ4Kx4(c *byte)
TEXT ·neonQ4Kx4(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q4K(EACH4)
	RET

// func neonQ5Kx1(c *byte)
TEXT ·neonQ5Kx1(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q5K(EACH1)
	RET

// func neonQ5Kx2(c *byte)
TEXT ·neonQ5Kx2(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q5K(EACH2)
	RET

// func neonQ5Kx4(c *byte)
TEXT ·neonQ5Kx4(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q5K(EACH4)
	RET

// func neonQ6Kx1(c *byte)
TEXT ·neonQ6Kx1(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q6K(EACH1)
	RET

// func neonQ6Kx2(c *byte)
TEXT ·neonQ6Kx2(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q6K(EACH2)
	RET

// func neonQ6Kx4(c *byte)
TEXT ·neonQ6Kx4(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q6K(EACH4)
	RET

// func neonQ2Kx1(c *byte)
TEXT ·neonQ2Kx1(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q2K(EACH1)
	RET

// func neonQ2Kx2(c *byte)
TEXT ·neonQ2Kx2(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q2K(EACH2)
	RET

// func neonQ2Kx4(c *byte)
TEXT ·neonQ2Kx4(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q2K(EACH4)
	RET

// func neonQ3Kx1(c *byte)
TEXT ·neonQ3Kx1(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q3K(EACH1)
	RET

// func neonQ3Kx2(c *byte)
TEXT ·neonQ3Kx2(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q3K(EACH2)
	RET

// func neonQ3Kx4(c *byte)
TEXT ·neonQ3Kx4(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q3K(EACH4)
	RET

// func neonIQ4XSx1(c *byte)
TEXT ·neonIQ4XSx1(SB), 0, $1792-8
	MOVD c+0(FP), R0
	IQ4XS(EACH1)
	RET

// func neonIQ4XSx2(c *byte)
TEXT ·neonIQ4XSx2(SB), 0, $1792-8
	MOVD c+0(FP), R0
	IQ4XS(EACH2)
	RET

// func neonIQ4XSx4(c *byte)
TEXT ·neonIQ4XSx4(SB), 0, $1792-8
	MOVD c+0(FP), R0
	IQ4XS(EACH4)
	RET

// func neonScoresx1(dst *float32, q *int8, qs *float32, keys *byte, ks *uint16, blocks int)
TEXT ·neonScoresx1(SB), NOSPLIT, $0-48
	MOVD dst+0(FP), R0
	MOVD q+8(FP), R1
	MOVD qs+16(FP), R2
	MOVD keys+24(FP), R4
	MOVD ks+32(FP), R5
	MOVD blocks+40(FP), R6
	LSL  $5, R6, R7
	SCORES(QUERY1)
	RET

// func neonScoresx2(dst *float32, q *int8, qs *float32, keys *byte, ks *uint16, blocks int)
TEXT ·neonScoresx2(SB), NOSPLIT, $0-48
	MOVD dst+0(FP), R0
	MOVD q+8(FP), R1
	MOVD qs+16(FP), R2
	MOVD keys+24(FP), R4
	MOVD ks+32(FP), R5
	MOVD blocks+40(FP), R6
	LSL  $5, R6, R7
	SCORES(QUERY2)
	RET
