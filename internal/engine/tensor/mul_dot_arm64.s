#include "textflag.h"
#include "neon_arm64.h"

// MAC adds the products of a step with SDOT, four columns at once.
#define MAC(sum, act, i) SDOT(sum, 16, act, i); SDOT((sum)+1, 17, act, i); SDOT((sum)+2, 18, act, i); SDOT((sum)+3, 19, act, i)

#include "mul_arm64.h"
#include "blocks_arm64.h"
#include "supers_arm64.h"
#include "attn_arm64.h"

// func dotQ80x1(c *byte)
TEXT ·dotQ80x1(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q80(EACH1)
	RET

// func dotQ80x2(c *byte)
TEXT ·dotQ80x2(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q80(EACH2)
	RET

// func dotQ80x4(c *byte)
TEXT ·dotQ80x4(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q80(EACH4)
	RET

// func dotQ40x1(c *byte)
TEXT ·dotQ40x1(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q40(EACH1)
	RET

// func dotQ40x2(c *byte)
TEXT ·dotQ40x2(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q40(EACH2)
	RET

// func dotQ40x4(c *byte)
TEXT ·dotQ40x4(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q40(EACH4)
	RET

// func dotQ41x1(c *byte)
TEXT ·dotQ41x1(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q41(EACH1)
	RET

// func dotQ41x2(c *byte)
TEXT ·dotQ41x2(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q41(EACH2)
	RET

// func dotQ41x4(c *byte)
TEXT ·dotQ41x4(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q41(EACH4)
	RET

// func dotQ50x1(c *byte)
TEXT ·dotQ50x1(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q50(EACH1)
	RET

// func dotQ50x2(c *byte)
TEXT ·dotQ50x2(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q50(EACH2)
	RET

// func dotQ50x4(c *byte)
TEXT ·dotQ50x4(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q50(EACH4)
	RET

// func dotQ51x1(c *byte)
TEXT ·dotQ51x1(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q51(EACH1)
	RET

// func dotQ51x2(c *byte)
TEXT ·dotQ51x2(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q51(EACH2)
	RET

// func dotQ51x4(c *byte)
TEXT ·dotQ51x4(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	Q51(EACH4)
	RET

// func dotIQ4NLx1(c *byte)
TEXT ·dotIQ4NLx1(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	IQ4NL(EACH1)
	RET

// func dotIQ4NLx2(c *byte)
TEXT ·dotIQ4NLx2(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	IQ4NL(EACH2)
	RET

// func dotIQ4NLx4(c *byte)
TEXT ·dotIQ4NLx4(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	IQ4NL(EACH4)
	RET

// func dotMXFP4x1(c *byte)
TEXT ·dotMXFP4x1(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	MXFP4(EACH1)
	RET

// func dotMXFP4x2(c *byte)
TEXT ·dotMXFP4x2(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	MXFP4(EACH2)
	RET

// func dotMXFP4x4(c *byte)
TEXT ·dotMXFP4x4(SB), NOSPLIT, $0-8
	MOVD c+0(FP), R0
	MXFP4(EACH4)
	RET

// func dotQ4Kx1(c *byte)
TEXT ·dotQ4Kx1(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q4K(EACH1)
	RET

// func dotQ4Kx2(c *byte)
TEXT ·dotQ4Kx2(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q4K(EACH2)
	RET

// func dotQ4Kx4(c *byte)
TEXT ·dotQ4Kx4(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q4K(EACH4)
	RET

// func dotQ5Kx1(c *byte)
TEXT ·dotQ5Kx1(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q5K(EACH1)
	RET

// func dotQ5Kx2(c *byte)
TEXT ·dotQ5Kx2(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q5K(EACH2)
	RET

// func dotQ5Kx4(c *byte)
TEXT ·dotQ5Kx4(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q5K(EACH4)
	RET

// func dotQ6Kx1(c *byte)
TEXT ·dotQ6Kx1(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q6K(EACH1)
	RET

// func dotQ6Kx2(c *byte)
TEXT ·dotQ6Kx2(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q6K(EACH2)
	RET

// func dotQ6Kx4(c *byte)
TEXT ·dotQ6Kx4(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q6K(EACH4)
	RET

// func dotQ2Kx1(c *byte)
TEXT ·dotQ2Kx1(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q2K(EACH1)
	RET

// func dotQ2Kx2(c *byte)
TEXT ·dotQ2Kx2(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q2K(EACH2)
	RET

// func dotQ2Kx4(c *byte)
TEXT ·dotQ2Kx4(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q2K(EACH4)
	RET

// func dotQ3Kx1(c *byte)
TEXT ·dotQ3Kx1(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q3K(EACH1)
	RET

// func dotQ3Kx2(c *byte)
TEXT ·dotQ3Kx2(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q3K(EACH2)
	RET

// func dotQ3Kx4(c *byte)
TEXT ·dotQ3Kx4(SB), 0, $1792-8
	MOVD c+0(FP), R0
	Q3K(EACH4)
	RET

// func dotIQ4XSx1(c *byte)
TEXT ·dotIQ4XSx1(SB), 0, $1792-8
	MOVD c+0(FP), R0
	IQ4XS(EACH1)
	RET

// func dotIQ4XSx2(c *byte)
TEXT ·dotIQ4XSx2(SB), 0, $1792-8
	MOVD c+0(FP), R0
	IQ4XS(EACH2)
	RET

// func dotIQ4XSx4(c *byte)
TEXT ·dotIQ4XSx4(SB), 0, $1792-8
	MOVD c+0(FP), R0
	IQ4XS(EACH4)
	RET

// func dotScoresx1(dst *float32, q *int8, qs *float32, keys *byte, ks *uint16, blocks int)
TEXT ·dotScoresx1(SB), NOSPLIT, $0-48
	MOVD dst+0(FP), R0
	MOVD q+8(FP), R1
	MOVD qs+16(FP), R2
	MOVD keys+24(FP), R4
	MOVD ks+32(FP), R5
	MOVD blocks+40(FP), R6
	LSL  $5, R6, R7
	SCORES(QUERY1)
	RET

// func dotScoresx2(dst *float32, q *int8, qs *float32, keys *byte, ks *uint16, blocks int)
TEXT ·dotScoresx2(SB), NOSPLIT, $0-48
	MOVD dst+0(FP), R0
	MOVD q+8(FP), R1
	MOVD qs+16(FP), R2
	MOVD keys+24(FP), R4
	MOVD ks+32(FP), R5
	MOVD blocks+40(FP), R6
	LSL  $5, R6, R7
	SCORES(QUERY2)
	RET
