// The products of types with blocks of 32, from the pieces in mul_arm64.h.

// START finds the token's record and values and clears its sums.
#define START(recq, t, rec, q, dst, act) \
	MOVD (16+8*(t))(R0), rec; \
	ADD  $recq, rec, q; \
	MOVD (144+8*(t))(R0), dst; \
	STP  (ZR, ZR), (dst); STP (ZR, ZR), 16(dst); STP (ZR, ZR), 32(dst); STP (ZR, ZR), 48(dst)

// INIT starts the integer sums with what makes up for unsigned weights.
#define INIT(x, t, rec, q, dst, act) \
	FMOVS 32(rec), F28; \
	DUP4(4*(t), 28, 0); DUP4(4*(t)+1, 28, 0); DUP4(4*(t)+2, 28, 0); DUP4(4*(t)+3, 28, 0)

// FOLDROWS adds the integer sums of a block, times the scales of weights (16-19) and activations (30), to the sums in 25-28.
#define FOLDROWS(t, dst) \
	FLDPQ (dst), (F25, F26); FLDPQ 32(dst), (F27, F28); \
	FMULI(21, 16, 30, 0); FMULI(22, 17, 30, 0); FMULI(23, 18, 30, 0); FMULI(24, 19, 30, 0); \
	SCVTF4(4*(t), 4*(t)); SCVTF4(4*(t)+1, 4*(t)+1); SCVTF4(4*(t)+2, 4*(t)+2); SCVTF4(4*(t)+3, 4*(t)+3); \
	FMLA4(25, 4*(t), 21); FMLA4(26, 4*(t)+1, 22); FMLA4(27, 4*(t)+2, 23); FMLA4(28, 4*(t)+3, 24)

// FOLD ends a block.
#define FOLD(x, t, rec, q, dst, act) \
	FMOVS (rec), F30; \
	FOLDROWS(t, dst); \
	FSTPQ (F25, F26), (dst); FSTPQ (F27, F28), 32(dst); \
	ADD $4, rec; ADD $32, q

// FOLDMIN ends a block whose weights have minimums, at 32(R1).
#define FOLDMIN(x, t, rec, q, dst, act) \
	FMOVS (rec), F30; \
	FOLDROWS(t, dst); \
	FMOVS 32(rec), F30; \
	FLDPQ 32(R1), (F21, F23); \
	FCVTL2(22, 21); FCVTL(21, 21); FCVTL2(24, 23); FCVTL(23, 23); \
	FMLAI(25, 21, 30, 0); FMLAI(26, 22, 30, 0); FMLAI(27, 23, 30, 0); FMLAI(28, 24, 30, 0); \
	FSTPQ (F25, F26), (dst); FSTPQ (F27, F28), 32(dst); \
	ADD $4, rec; ADD $32, q

// NEXT goes to the record of the next chunk.
#define NEXT(x, t, rec, q, dst, act) ADD $288, rec; ADD $64, q

// BLOCKS walks the blocks: header and body are their sizes over 16 rows, init starts the integer sums, low and high are
// the products of the columns 0-15 and 16-31, scales puts the scales into 16-19, fold ends the block.
#define BLOCKS(each, header, body, init, low, high, scales, fold) \
	MOVD (R0), R1; \
	MOVD 8(R0), R2; \
	each(START, 64); \
chunk: \
	MOVD $8, R16; \
	CMP  R16, R2; \
	CSEL LT, R2, R16, R16; \
	SUB  R16, R2; \
	MOVD $header, R17; \
	MADD R16, R1, R17, R15; \
block: \
	each(init, 0); \
	each(LOADQ, 0); \
	low(each); \
	each(LOADQ, 16); \
	high(each); \
	scales; \
	each(fold, 0); \
	ADD  $header, R1; \
	ADD  $body, R15; \
	SUB  $1, R16; \
	CBNZ R16, block; \
	each(NEXT, 0); \
	MOVD R15, R1; \
	CBNZ R2, chunk

#define SCALE16 HALVES(0, R1, 16)

#define STEP_Q80(i) \
	LOADW(R15, 64*(i)); \
	EOR16(16, 16, 31); EOR16(17, 17, 31); EOR16(18, 18, 31); EOR16(19, 19, 31)
#define LOW8(each) QUAD(each, STEP_Q80, 0)
#define HIGH8(each) QUAD(each, STEP_Q80, 4)
#define Q80(each) \
	MOVI16(31, 0x80); \
	BLOCKS(each, 32, 512, CLEAR, LOW8, HIGH8, SCALE16, FOLD)

#define STEP_LOW4(i) LOADW(R15, 64*(i)); MASKW(31)
#define STEP_HIGH4(i) LOADW(R15, 64*(i)-256); HIGHW
#define LOW4(each) QUAD(each, STEP_LOW4, 0)
#define HIGH4(each) QUAD(each, STEP_HIGH4, 4)
#define Q40(each) \
	MOVI16(31, 15); \
	BLOCKS(each, 32, 256, INIT, LOW4, HIGH4, SCALE16, FOLD)
#define Q41(each) \
	MOVI16(31, 15); \
	BLOCKS(each, 64, 256, CLEAR, LOW4, HIGH4, SCALE16, FOLDMIN)

// HIGHBIT sets bit 4 of the weights from the 32 bits a row at off: index has each row's byte four times, mask the bits.
#define HIGHBIT(off, low, high, mask) \
	VMOVQ low, high, V29; \
	VMOVQ mask, mask, V30; \
	FLDPQ (off)(R1), (F21, F22); FLDPQ ((off)+32)(R1), (F23, F28); \
	TBL16(21, 21, 29); TBL16(22, 22, 29); TBL16(23, 23, 29); TBL16(28, 28, 29); \
	JOINBIT
#define JOINBIT \
	CMTST16(21, 21, 30); CMTST16(22, 22, 30); CMTST16(23, 23, 30); CMTST16(28, 28, 30); \
	JOINW
// JOINW adds what the constant 20 leaves of 21-23 and 28 to the weights.
#define JOINW \
	AND16(21, 21, 20); AND16(22, 22, 20); AND16(23, 23, 20); AND16(28, 28, 20); \
	ORR16(16, 16, 21); ORR16(17, 17, 22); ORR16(18, 18, 23); ORR16(19, 19, 28)
#define BYTE0(off, mask) HIGHBIT(off, $0x0404040400000000, $0x0c0c0c0c08080808, mask)
#define BYTE1(off, mask) HIGHBIT(off, $0x0505050501010101, $0x0d0d0d0d09090909, mask)
#define BYTE2(off, mask) HIGHBIT(off, $0x0606060602020202, $0x0e0e0e0e0a0a0a0a, mask)
#define BYTE3(off, mask) HIGHBIT(off, $0x0707070703030303, $0x0f0f0f0f0b0b0b0b, mask)
#define BITS0 $0x0804020108040201
#define BITS4 $0x8040201080402010
// QUAD5 is a quad of weights of 5 bits; a step cannot compute which bytes it needs, so they are written out.
#define QUAD5(each, step, i, off, lower, upper) \
	step((i)+0); lower(off, BITS0); each(ROWS, 0); \
	step((i)+1); lower(off, BITS4); each(ROWS, 1); \
	step((i)+2); upper(off, BITS0); each(ROWS, 2); \
	step((i)+3); upper(off, BITS4); each(ROWS, 3)
#define FIVELOW0(each) QUAD5(each, STEP_LOW4, 0, 32, BYTE0, BYTE1)
#define FIVEHIGH0(each) QUAD5(each, STEP_HIGH4, 4, 32, BYTE2, BYTE3)
#define FIVELOW1(each) QUAD5(each, STEP_LOW4, 0, 64, BYTE0, BYTE1)
#define FIVEHIGH1(each) QUAD5(each, STEP_HIGH4, 4, 64, BYTE2, BYTE3)
#define Q50(each) \
	MOVI16(31, 15); MOVI16(20, 16); \
	BLOCKS(each, 96, 256, INIT, FIVELOW0, FIVEHIGH0, SCALE16, FOLD)
#define Q51(each) \
	MOVI16(31, 15); MOVI16(20, 16); \
	BLOCKS(each, 128, 256, CLEAR, FIVELOW1, FIVEHIGH1, SCALE16, FOLDMIN)

// The tables of the types that look their values up.
#define IQ4TABLE VMOVQ $0xf6eaddcfbfad9881, $0x7159453526190d01, V20
#define MXFP4TABLE VMOVQ $0x0c08060403020100, $0xf4f8fafcfdfeff00, V20
#define STEP_TABLELOW(i) LOADW(R15, 64*(i)); MASKW(31); LOOKUPW(20)
#define STEP_TABLEHIGH(i) LOADW(R15, 64*(i)-256); HIGHW; LOOKUPW(20)
#define TABLELOW(each) QUAD(each, STEP_TABLELOW, 0)
#define TABLEHIGH(each) QUAD(each, STEP_TABLEHIGH, 4)
#define IQ4NL(each) \
	MOVI16(31, 15); IQ4TABLE; \
	BLOCKS(each, 32, 256, CLEAR, TABLELOW, TABLEHIGH, SCALE16, FOLD)

// SCALEMX makes powers of two of 16 exponents: half of each, as the table's values are doubled.
#define SCALEMX \
	FMOVQ (R1), F28; \
	MOVI16(30, 1); UMAX16(28, 28, 30); SUB16(28, 28, 30); \
	UXTLB(29, 28); UXTLB2(30, 28); UXTL(16, 29); UXTL2(17, 29); UXTL(18, 30); UXTL2(19, 30); \
	SHLS(16, 16, 23); SHLS(17, 17, 23); SHLS(18, 18, 23); SHLS(19, 19, 23)
#define MXFP4(each) \
	MOVI16(31, 15); MXFP4TABLE; \
	BLOCKS(each, 16, 256, CLEAR, TABLELOW, TABLEHIGH, SCALEMX, FOLD)
