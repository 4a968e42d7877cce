// The products of types with super-blocks of 256, from the pieces in mul_arm64.h.
//
// The scales of the groups are worked out first, 16 rows of f32 each, into the frame at R17; the minimums as int16 at R21;
// the sums of a super-block are at R20, 64 bytes for each token. R19 walks over the scales, R22 over the inits of the records.

#define FRAME 1792
#define SCRATCH \
	MOVD $scratch-FRAME(SP), R17; \
	ADD  $1024, R17, R21; \
	ADD  $1536, R17, R20

// SPREAD writes the scales of two groups and 8 rows to off: v holds a pair of signed bytes for each row, da and db are the
// rows' factors.
#define SPREAD(v, da, db, off) \
	SHLH(30, v, 8); SSHRH(30, 30, 8); \
	SXTL(21, 30); SXTL2(22, 30); SCVTF4(21, 21); SCVTF4(22, 22); FMUL4(21, 21, da); FMUL4(22, 22, db); \
	FSTPQ (F21, F22), (off)(R17); \
	SSHRH(30, v, 8); \
	SXTL(21, 30); SXTL2(22, 30); SCVTF4(21, 21); SCVTF4(22, 22); FMUL4(21, 21, da); FMUL4(22, 22, db); \
	FSTPQ (F21, F22), ((off)+64)(R17)

// SPREADMIN writes the minimums of two groups and 8 rows to off.
#define SPREADMIN(v, off) \
	SHLH(30, v, 8); USHRH(30, 30, 8); FMOVQ F30, (off)(R21); \
	USHRH(30, v, 8); FMOVQ F30, ((off)+32)(R21)

// PAIR does both halves of the rows of the groups g and g+1, the factors being in 24-27.
#define PAIR(v, g) SPREAD(v, 24, 25, 64*(g)); SPREAD((v)+1, 26, 27, 64*(g)+32)
#define PAIRMIN(v, g) SPREADMIN(v, 32*(g)); SPREADMIN((v)+1, 32*(g)+16)

// SCALESK4 unpacks the 6-bit scales and minimums of Q4_K and Q5_K, whose 12 bytes a row are at 64(R1).
#define HIGH6(v) USHRB(30, v, 6); SHLB(30, 30, 4); AND16(31, (v)+8, 29); ORR16(v, 30, 31)
#define HIGHMIN6(v) USHRB(30, v, 6); SHLB(30, 30, 4); USHRB(31, (v)+4, 4); ORR16(v, 30, 31)
#define SCALESK4 \
	HALVES(0, R1, 24); \
	FLDPQ 64(R1), (F0, F1); FLDPQ 96(R1), (F2, F3); FLDPQ 128(R1), (F4, F5); \
	FLDPQ 160(R1), (F6, F7); FLDPQ 192(R1), (F8, F9); FLDPQ 224(R1), (F10, F11); \
	MOVI16(28, 63); MOVI16(29, 15); \
	AND16(12, 0, 28); AND16(13, 1, 28); AND16(14, 2, 28); AND16(15, 3, 28); \
	AND16(16, 4, 28); AND16(17, 5, 28); AND16(18, 6, 28); AND16(19, 7, 28); \
	HIGH6(0); HIGH6(1); HIGH6(2); HIGH6(3); \
	HIGHMIN6(4); HIGHMIN6(5); HIGHMIN6(6); HIGHMIN6(7); \
	PAIR(12, 0); PAIR(14, 2); PAIR(0, 4); PAIR(2, 6); \
	PAIRMIN(16, 0); PAIRMIN(18, 2); PAIRMIN(4, 4); PAIRMIN(6, 6)

// SCALESQ6 spreads the 16 signed scales of Q6_K; R16 points at them, the factors follow.
#define SCALESQ6 \
	ADD $3072, R1, R16; \
	HALVES(256, R16, 24); \
	FLDPQ 0(R16), (F0, F1); FLDPQ 32(R16), (F2, F3); FLDPQ 64(R16), (F4, F5); FLDPQ 96(R16), (F6, F7); \
	FLDPQ 128(R16), (F8, F9); FLDPQ 160(R16), (F10, F11); FLDPQ 192(R16), (F12, F13); FLDPQ 224(R16), (F14, F15); \
	PAIR(0, 0); PAIR(2, 2); PAIR(4, 4); PAIR(6, 6); PAIR(8, 8); PAIR(10, 10); PAIR(12, 12); PAIR(14, 14)

// STARTK finds the token's record and clears its sums.
#define STARTK(x, t, rec, q, dst, act) START(128, t, rec, q, dst, act)

// SUMZERO clears the sums of a super-block, SUMMIN8 starts them with minus the minimums of 8 groups times the sums of the
// activations.
#define SUMZERO(x, t, rec, q, dst, act) \
	STP (ZR, ZR), (64*(t))(R20); STP (ZR, ZR), (64*(t)+16)(R20); \
	STP (ZR, ZR), (64*(t)+32)(R20); STP (ZR, ZR), (64*(t)+48)(R20)
#define MINGROUP(g, sums, i) \
	FLDPQ (32*(g))(R21), (F4, F5); \
	SMLAL(0, 4, sums, i); SMLAL2(1, 4, sums, i); SMLAL(2, 5, sums, i); SMLAL2(3, 5, sums, i)
#define MINGROUPS(g, sums) \
	MINGROUP((g)+0, sums, 0); MINGROUP((g)+1, sums, 1); MINGROUP((g)+2, sums, 2); MINGROUP((g)+3, sums, 3); \
	MINGROUP((g)+4, sums, 4); MINGROUP((g)+5, sums, 5); MINGROUP((g)+6, sums, 6); MINGROUP((g)+7, sums, 7)
#define MINEND(t) \
	HALVES(32, R1, 8); \
	FNEG4(8, 8); FNEG4(9, 9); FNEG4(10, 10); FNEG4(11, 11); \
	SCVTF4(0, 0); SCVTF4(1, 1); SCVTF4(2, 2); SCVTF4(3, 3); \
	FMUL4(0, 8, 0); FMUL4(1, 9, 1); FMUL4(2, 10, 2); FMUL4(3, 11, 3); \
	FSTPQ (F0, F1), (64*(t))(R20); FSTPQ (F2, F3), (64*(t)+32)(R20)
#define SUMMIN8(x, t, rec, q, dst, act) \
	FMOVQ 16(rec), F6; \
	ZERO(0); ZERO(1); ZERO(2); ZERO(3); \
	MINGROUPS(0, 6); \
	MINEND(t)
#define SUMMIN16(x, t, rec, q, dst, act) \
	FLDPQ 32(rec), (F6, F7); \
	ZERO(0); ZERO(1); ZERO(2); ZERO(3); \
	MINGROUPS(0, 6); MINGROUPS(8, 7); \
	MINEND(t)

// INITK starts the integer sums of a group.
#define INITK(x, t, rec, q, dst, act) \
	FMOVS (rec)(R22), F28; \
	DUP4(4*(t), 28, 0); DUP4(4*(t)+1, 28, 0); DUP4(4*(t)+2, 28, 0); DUP4(4*(t)+3, 28, 0)

// FOLDK adds the integer sums of a group, times its scales, to those of the super-block.
#define FOLDK(width, t, rec, q, dst, act) \
	FLDPQ (64*(t))(R20), (F25, F26); FLDPQ (64*(t)+32)(R20), (F27, F28); \
	SCVTF4(4*(t), 4*(t)); SCVTF4(4*(t)+1, 4*(t)+1); SCVTF4(4*(t)+2, 4*(t)+2); SCVTF4(4*(t)+3, 4*(t)+3); \
	FMLA4(25, 4*(t), 16); FMLA4(26, 4*(t)+1, 17); FMLA4(27, 4*(t)+2, 18); FMLA4(28, 4*(t)+3, 19); \
	FSTPQ (F25, F26), (64*(t))(R20); FSTPQ (F27, F28), (64*(t)+32)(R20); \
	ADD $width, q

#define LOADSCALE FLDPQ (R19), (F16, F17); FLDPQ 32(R19), (F18, F19); ADD $64, R19

// GROUP32 and GROUP16 are a group of columns with one scale.
#define GROUP32(each, init, step) \
	each(init, 0); \
	each(LOADQ, 0); QUAD(each, step, 0); \
	each(LOADQ, 16); QUAD(each, step, 4); \
	LOADSCALE; \
	each(FOLDK, 32)
#define GROUP16(each, init, step, i) \
	each(init, 0); \
	each(LOADQ, 0); QUAD(each, step, i); \
	LOADSCALE; \
	each(FOLDK, 16); \
	ADD $4, R22

// ENDK adds the sums of a super-block, times the scale of the activations, to the token's.
#define ENDK(x, t, rec, q, dst, act) \
	FMOVS (rec), F30; \
	FLDPQ (64*(t))(R20), (F16, F17); FLDPQ (64*(t)+32)(R20), (F18, F19); \
	FLDPQ (dst), (F25, F26); FLDPQ 32(dst), (F27, F28); \
	FMLAI(25, 16, 30, 0); FMLAI(26, 17, 30, 0); FMLAI(27, 18, 30, 0); FMLAI(28, 19, 30, 0); \
	FSTPQ (F25, F26), (dst); FSTPQ (F27, F28), 32(dst); \
	ADD $384, rec; ADD $128, q

// SUPERS walks the super-blocks of size bytes over 16 rows: scales writes the scales, sums starts the sums, groups are the
// products.
#define SUPERS(each, size, scales, sums, groups) \
	SCRATCH; \
	MOVD (R0), R1; \
	MOVD 8(R0), R2; \
	each(STARTK, 0); \
super: \
	scales; \
	each(sums, 0); \
	MOVD R17, R19; \
	MOVD $64, R22; \
	groups(each); \
	each(ENDK, 0); \
	ADD  $size, R1; \
	SUB  $1, R2; \
	CBNZ R2, super

#define STEPK_HIGH4(i) LOADW(R15, 64*(i)); HIGHW
#define GROUPS_Q4K(each) \
	MOVI16(31, 15); \
	ADD  $256, R1, R15; \
	MOVD $4, R16; \
pair: \
	GROUP32(each, CLEAR, STEP_LOW4); \
	GROUP32(each, CLEAR, STEPK_HIGH4); \
	ADD  $512, R15; \
	SUB  $1, R16; \
	CBNZ R16, pair
#define Q4K(each) SUPERS(each, 2304, SCALESK4, SUMMIN8, GROUPS_Q4K)

// The steps of Q6_K: R15 the low bits of half a super-block, R23 its second half of those, R24 the high bits. 20 is 0x30.
#define HIGHBITS(i) FLDPQ (64*(i))(R24), (F21, F22); FLDPQ (64*(i)+32)(R24), (F23, F28)
#define STEP_Q6K0(i) \
	LOADW(R15, 64*(i)); MASKW(31); HIGHBITS(i); \
	SHLB(21, 21, 4); SHLB(22, 22, 4); SHLB(23, 23, 4); SHLB(28, 28, 4); JOINW
#define STEP_Q6K1(i) \
	LOADW(R23, 64*(i)); MASKW(31); HIGHBITS(i); \
	SHLB(21, 21, 2); SHLB(22, 22, 2); SHLB(23, 23, 2); SHLB(28, 28, 2); JOINW
#define STEP_Q6K2(i) \
	LOADW(R15, 64*(i)); HIGHW; HIGHBITS(i); JOINW
#define STEP_Q6K3(i) \
	LOADW(R23, 64*(i)); HIGHW; HIGHBITS(i); \
	USHRB(21, 21, 2); USHRB(22, 22, 2); USHRB(23, 23, 2); USHRB(28, 28, 2); JOINW
#define GROUPS_Q6K(each) \
	MOVI16(31, 15); MOVI16(20, 0x30); \
	MOVD R1, R24; \
	ADD  $1024, R1, R15; \
	MOVD $2, R16; \
half: \
	ADD  $512, R15, R23; \
	GROUP16(each, INITK, STEP_Q6K0, 0); GROUP16(each, INITK, STEP_Q6K0, 4); \
	GROUP16(each, INITK, STEP_Q6K1, 0); GROUP16(each, INITK, STEP_Q6K1, 4); \
	GROUP16(each, INITK, STEP_Q6K2, 0); GROUP16(each, INITK, STEP_Q6K2, 4); \
	GROUP16(each, INITK, STEP_Q6K3, 0); GROUP16(each, INITK, STEP_Q6K3, 4); \
	ADD  $1024, R15; \
	ADD  $512, R24; \
	SUB  $1, R16; \
	CBNZ R16, half
#define Q6K(each) SUPERS(each, 3360, SCALESQ6, SUMZERO, GROUPS_Q6K)

// Q5_K: R24 the high bits, R25 the bit of the group.
#define STEP_Q5KLOW(i) LOADW(R15, 64*(i)); MASKW(31); VDUP R25, V30.B16; HIGHBITS(i); JOINBIT
#define STEP_Q5KHIGH(i) LOADW(R15, 64*(i)); HIGHW; VDUP R25, V30.B16; HIGHBITS(i); JOINBIT
#define GROUPS_Q5K(each) \
	MOVI16(31, 15); MOVI16(20, 16); \
	ADD  $256, R1, R24; \
	ADD  $768, R1, R15; \
	MOVD $1, R25; \
	MOVD $4, R16; \
pair: \
	GROUP32(each, CLEAR, STEP_Q5KLOW); \
	LSL  $1, R25; \
	GROUP32(each, CLEAR, STEP_Q5KHIGH); \
	LSL  $1, R25; \
	ADD  $512, R15; \
	SUB  $1, R16; \
	CBNZ R16, pair
#define Q5K(each) SUPERS(each, 2816, SCALESK4, SUMMIN8, GROUPS_Q5K)

// Q2_K: scales and minimums of 4 bits at 64(R1), behind them the weights of 2 bits, four groups of 32 in each byte.
#define SCALEQ2(g) \
	FLDPQ (64+16*(g))(R1), (F0, F1); \
	AND16(2, 0, 29); AND16(3, 1, 29); USHRB(0, 0, 4); USHRB(1, 1, 4); \
	PAIR(2, g); PAIRMIN(0, g)
#define SCALESQ2 \
	HALVES(0, R1, 24); \
	MOVI16(29, 15); \
	SCALEQ2(0); SCALEQ2(2); SCALEQ2(4); SCALEQ2(6); SCALEQ2(8); SCALEQ2(10); SCALEQ2(12); SCALEQ2(14)
#define SHIFTW(s) USHRB(16, 16, s); USHRB(17, 17, s); USHRB(18, 18, s); USHRB(19, 19, s); MASKW(31)
#define STEP_Q2K0(i) LOADW(R15, 64*(i)); MASKW(31)
#define STEP_Q2K1(i) LOADW(R15, 64*(i)); SHIFTW(2)
#define STEP_Q2K2(i) LOADW(R15, 64*(i)); SHIFTW(4)
#define STEP_Q2K3(i) LOADW(R15, 64*(i)); SHIFTW(6)
#define GROUPS_Q2K(each) \
	MOVI16(31, 3); \
	ADD  $320, R1, R15; \
	MOVD $2, R16; \
half: \
	GROUP16(each, CLEAR, STEP_Q2K0, 0); GROUP16(each, CLEAR, STEP_Q2K0, 4); \
	GROUP16(each, CLEAR, STEP_Q2K1, 0); GROUP16(each, CLEAR, STEP_Q2K1, 4); \
	GROUP16(each, CLEAR, STEP_Q2K2, 0); GROUP16(each, CLEAR, STEP_Q2K2, 4); \
	GROUP16(each, CLEAR, STEP_Q2K3, 0); GROUP16(each, CLEAR, STEP_Q2K3, 4); \
	ADD  $512, R15; \
	SUB  $1, R16; \
	CBNZ R16, half
#define Q2K(each) SUPERS(each, 1344, SCALESQ2, SUMMIN16, GROUPS_Q2K)

// Q3_K: scales of 6 bits less 32, of which the low four of 16 groups come first. The weights have their third bit in R24;
// where it is not set, 4 is subtracted, which sets the upper bits (20).
#define LOW3(v) AND16(12, v, 29); AND16(13, (v)+1, 29)
#define UPPER3(v) USHRB(12, v, 4); USHRB(13, (v)+1, 4)
#define SCALEQ3(g) \
	AND16(14, 14, 28); AND16(15, 15, 28); ORR16(12, 12, 14); ORR16(13, 13, 15); \
	SUB16(12, 12, 23); SUB16(13, 13, 23); \
	PAIR(12, g)
#define SCALESQ3 \
	ADD $1536, R1, R16; \
	HALVES(192, R16, 24); \
	FLDPQ 0(R16), (F0, F1); FLDPQ 32(R16), (F2, F3); FLDPQ 64(R16), (F4, F5); FLDPQ 96(R16), (F6, F7); \
	FLDPQ 128(R16), (F8, F9); FLDPQ 160(R16), (F10, F11); \
	MOVI16(29, 15); MOVI16(28, 0x30); MOVI16(23, 32); \
	LOW3(0); SHLB(14, 8, 4); SHLB(15, 9, 4); SCALEQ3(0); \
	LOW3(2); SHLB(14, 10, 4); SHLB(15, 11, 4); SCALEQ3(2); \
	LOW3(4); SHLB(14, 8, 2); SHLB(15, 9, 2); SCALEQ3(4); \
	LOW3(6); SHLB(14, 10, 2); SHLB(15, 11, 2); SCALEQ3(6); \
	UPPER3(0); MOV16(14, 8); MOV16(15, 9); SCALEQ3(8); \
	UPPER3(2); MOV16(14, 10); MOV16(15, 11); SCALEQ3(10); \
	UPPER3(4); USHRB(14, 8, 2); USHRB(15, 9, 2); SCALEQ3(12); \
	UPPER3(6); USHRB(14, 10, 2); USHRB(15, 11, 2); SCALEQ3(14)
#define THIRD(i) \
	VDUP R25, V30.B16; \
	HIGHBITS(i); \
	CMTST16(21, 21, 30); CMTST16(22, 22, 30); CMTST16(23, 23, 30); CMTST16(28, 28, 30); \
	BIC16(21, 20, 21); BIC16(22, 20, 22); BIC16(23, 20, 23); BIC16(28, 20, 28); \
	ORR16(16, 16, 21); ORR16(17, 17, 22); ORR16(18, 18, 23); ORR16(19, 19, 28)
#define STEP_Q3K0(i) STEP_Q2K0(i); THIRD(i)
#define STEP_Q3K1(i) STEP_Q2K1(i); THIRD(i)
#define STEP_Q3K2(i) STEP_Q2K2(i); THIRD(i)
#define STEP_Q3K3(i) STEP_Q2K3(i); THIRD(i)
#define GROUPS_Q3K(each) \
	MOVI16(31, 3); MOVI16(20, 0xfc); \
	MOVD R1, R24; \
	ADD  $512, R1, R15; \
	MOVD $1, R25; \
	MOVD $2, R16; \
half: \
	GROUP16(each, CLEAR, STEP_Q3K0, 0); GROUP16(each, CLEAR, STEP_Q3K0, 4); LSL $1, R25; \
	GROUP16(each, CLEAR, STEP_Q3K1, 0); GROUP16(each, CLEAR, STEP_Q3K1, 4); LSL $1, R25; \
	GROUP16(each, CLEAR, STEP_Q3K2, 0); GROUP16(each, CLEAR, STEP_Q3K2, 4); LSL $1, R25; \
	GROUP16(each, CLEAR, STEP_Q3K3, 0); GROUP16(each, CLEAR, STEP_Q3K3, 4); LSL $1, R25; \
	ADD  $512, R15; \
	SUB  $1, R16; \
	CBNZ R16, half
#define Q3K(each) SUPERS(each, 1760, SCALESQ3, SUMZERO, GROUPS_Q3K)

// IQ4_XS: scales of 6 bits less 32, the low four bits of 8 groups in 0-3, the high two in 4 and 5, to be shifted to their places in
// 16 bits.
#define SCALEXS(g) \
	AND16(8, 8, 29); AND16(9, 9, 29); AND16(10, 10, 28); AND16(11, 11, 28); \
	ORR16(8, 8, 10); ORR16(9, 9, 11); SUBH(8, 8, 23); SUBH(9, 9, 23); \
	SXTL(12, 8); SXTL2(13, 8); SXTL(14, 9); SXTL2(15, 9); \
	SCVTF4(12, 12); SCVTF4(13, 13); SCVTF4(14, 14); SCVTF4(15, 15); \
	FMUL4(12, 12, 24); FMUL4(13, 13, 25); FMUL4(14, 14, 26); FMUL4(15, 15, 27); \
	FSTPQ (F12, F13), (64*(g))(R17); FSTPQ (F14, F15), (64*(g)+32)(R17)
#define LOWXS(v, s) USHRH(8, v, s); USHRH(9, (v)+1, s)
#define HIGHXS(s) USHRH(10, 4, s); USHRH(11, 5, s)
#define SCALESXS \
	HALVES(0, R1, 24); \
	FLDPQ 32(R1), (F0, F1); FLDPQ 64(R1), (F2, F3); FLDPQ 96(R1), (F4, F5); \
	MOVI16(29, 15); MOVI16(28, 0x30); MOVI16(23, 32); \
	USHRH(29, 29, 8); USHRH(28, 28, 8); USHRH(23, 23, 8); \
	MOV16(8, 0); MOV16(9, 1); SHLH(10, 4, 4); SHLH(11, 5, 4); SCALEXS(0); \
	LOWXS(0, 4); SHLH(10, 4, 2); SHLH(11, 5, 2); SCALEXS(1); \
	LOWXS(0, 8); MOV16(10, 4); MOV16(11, 5); SCALEXS(2); \
	LOWXS(0, 12); HIGHXS(2); SCALEXS(3); \
	MOV16(8, 2); MOV16(9, 3); HIGHXS(4); SCALEXS(4); \
	LOWXS(2, 4); HIGHXS(6); SCALEXS(5); \
	LOWXS(2, 8); HIGHXS(8); SCALEXS(6); \
	LOWXS(2, 12); HIGHXS(10); SCALEXS(7)
#define GROUPS_IQ4XS(each) \
	MOVI16(31, 15); IQ4TABLE; \
	ADD  $128, R1, R15; \
	MOVD $8, R16; \
group: \
	each(CLEAR, 0); \
	each(LOADQ, 0); TABLELOW(each); \
	each(LOADQ, 16); TABLEHIGH(each); \
	LOADSCALE; \
	each(FOLDK, 32); \
	ADD  $256, R15; \
	SUB  $1, R16; \
	CBNZ R16, group
#define IQ4XS(each) SUPERS(each, 2176, SCALESXS, SUMZERO, GROUPS_IQ4XS)
