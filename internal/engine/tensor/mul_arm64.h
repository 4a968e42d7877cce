// The pieces of the products of quantised weights, for 1, 2 or 4 tokens at once. The dot and the plain kernels differ only
// in MAC, which they define before this file is included.
//
// Vectors: 0-15 are the integer sums, four vectors of four rows for each token; 16-19 the weights of a step, 16 rows × 4
// columns made signed bytes; 20 and 31 constants of the type; 24-27 activations, 16 columns of each token; the rest is
// scratch, where 21-23, 28 and 29 belong to the step's weights and 28-30 to MAC afterwards.
// Registers: R0 the call, R1 the header, R2 blocks left, R3-R6 the tokens' records, R7-R10 their values, R11-R14 where their
// sums are kept, R15 the weights.

// EACHn does something for each of n tokens: m(x, token, record, values, sums, activations).
#define EACH1(m, x) m(x, 0, R3, R7, R11, F24)
#define EACH2(m, x) EACH1(m, x); m(x, 1, R4, R8, R12, F25)
#define EACH4(m, x) EACH2(m, x); m(x, 2, R5, R9, R13, F26); m(x, 3, R6, R10, R14, F27)

// ROWS adds the products of a step, whose four columns are lane i of the activations.
#define ROWS(i, t, rec, q, dst, act) MAC(4*(t), 24+(t), i)

// LOADQ reads 16 activations at off.
#define LOADQ(off, t, rec, q, dst, act) FMOVQ off(q), act

#define CLEAR(x, t, rec, q, dst, act) ZERO(4*(t)); ZERO(4*(t)+1); ZERO(4*(t)+2); ZERO(4*(t)+3)

// QUAD is four steps, 16 columns: step(i) reads the weights of the step i.
#define QUAD(each, step, i) \
	step((i)+0); each(ROWS, 0); \
	step((i)+1); each(ROWS, 1); \
	step((i)+2); each(ROWS, 2); \
	step((i)+3); each(ROWS, 3)

// LOADW reads the weights of a step at off.
#define LOADW(base, off) FLDPQ (off)(base), (F16, F17); FLDPQ ((off)+32)(base), (F18, F19)
#define MASKW(c) AND16(16, 16, c); AND16(17, 17, c); AND16(18, 18, c); AND16(19, 19, c)
#define HIGHW USHRB(16, 16, 4); USHRB(17, 17, 4); USHRB(18, 18, 4); USHRB(19, 19, 4)
#define LOOKUPW(table) TBL16(16, table, 16); TBL16(17, table, 17); TBL16(18, table, 18); TBL16(19, table, 19)

// HALVES turns 16 half-precision numbers at off into vectors d to d+3; F16 and F17 are lost.
#define HALVES(off, base, d) \
	FLDPQ off(base), (F16, F17); \
	FCVTL(d+2, 17); FCVTL2(d+3, 17); FCVTL2(d+1, 16); FCVTL(d, 16)
