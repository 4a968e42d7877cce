// Scores of one or two rounded queries with 32 quantised keys; MAC as in mul_arm64.h, which is included before.
//
// Vectors: 0-15 the integer sums, eight of four positions for each query; 16-19 keys of 4 dimensions and 16 positions;
// 24 and 25 the queries; 31 the bias of the keys. Registers: R0 dst, R1 the queries, R2 their scales, R4 keys, R5 their
// scales, R6 blocks left, R7 bytes from a query to the next; R8, R9 and R10 the second query's dst, values and scales.

#define QUERY1(m, x) m(x, 0, R0, R1, R2, F24)
#define QUERY2(m, x) QUERY1(m, x); m(x, 1, R8, R9, R10, F25)

#define QUERYCLEAR(x, t, dst, q, qs, act) \
	STP (ZR, ZR), (dst); STP (ZR, ZR), 16(dst); STP (ZR, ZR), 32(dst); STP (ZR, ZR), 48(dst); \
	STP (ZR, ZR), 64(dst); STP (ZR, ZR), 80(dst); STP (ZR, ZR), 96(dst); STP (ZR, ZR), 112(dst)
#define QUERYZERO(x, t, dst, q, qs, act) \
	ZERO(8*(t)); ZERO(8*(t)+1); ZERO(8*(t)+2); ZERO(8*(t)+3); ZERO(8*(t)+4); ZERO(8*(t)+5); ZERO(8*(t)+6); ZERO(8*(t)+7)
#define QUERYLOAD(x, t, dst, q, qs, act) FMOVQ.P 16(q), act
#define QUERYLOW(i, t, dst, q, qs, act) MAC(8*(t), 24+(t), i)
#define QUERYHIGH(i, t, dst, q, qs, act) MAC(8*(t)+4, 24+(t), i)

#define LOADKEYS(off) LOADW(R4, off); EOR16(16, 16, 31); EOR16(17, 17, 31); EOR16(18, 18, 31); EOR16(19, 19, 31)
#define KEYS4(each, i) \
	LOADKEYS(128*(i)); each(QUERYLOW, i); \
	LOADKEYS(128*(i)+64); each(QUERYHIGH, i)
#define KEYS16(each) \
	each(QUERYLOAD, 0); \
	KEYS4(each, 0); KEYS4(each, 1); KEYS4(each, 2); KEYS4(each, 3); \
	ADD $512, R4

// QUERYADD adds the sums of 16 positions, times both scales.
#define QUERYADD(sum, half, off, dst) \
	HALVES(half, R5, 16); \
	FMULI(16, 16, 30, 0); FMULI(17, 17, 30, 0); FMULI(18, 18, 30, 0); FMULI(19, 19, 30, 0); \
	FLDPQ (off)(dst), (F26, F27); FLDPQ ((off)+32)(dst), (F28, F29); \
	SCVTF4(sum, sum); SCVTF4((sum)+1, (sum)+1); SCVTF4((sum)+2, (sum)+2); SCVTF4((sum)+3, (sum)+3); \
	FMLA4(26, sum, 16); FMLA4(27, (sum)+1, 17); FMLA4(28, (sum)+2, 18); FMLA4(29, (sum)+3, 19); \
	FSTPQ (F26, F27), (off)(dst); FSTPQ (F28, F29), ((off)+32)(dst)
#define QUERYFOLD(x, t, dst, q, qs, act) \
	FMOVS.P 4(qs), F30; \
	QUERYADD(8*(t), 0, 0, dst); \
	QUERYADD(8*(t)+4, 32, 64, dst)

#define SCORES(each) \
	MOVI16(31, 0x80); \
	ADD  $128, R0, R8; \
	ADD  R7, R1, R9; \
	ADD  R7>>3, R2, R10; \
	each(QUERYCLEAR, 0); \
block: \
	each(QUERYZERO, 0); \
	KEYS16(each); \
	KEYS16(each); \
	each(QUERYFOLD, 0); \
	ADD  $64, R5; \
	SUB  $1, R6; \
	CBNZ R6, block
