#include "textflag.h"
#include "neon_arm64.h"

// MAC adds the products of a step with SDOT, four columns at once.
#define MAC(sum, act, i) SDOT(sum, 16, act, i); SDOT((sum)+1, 17, act, i); SDOT((sum)+2, 18, act, i); SDOT((sum)+3, 19, act, i)

#include "mul_arm64.h"

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

