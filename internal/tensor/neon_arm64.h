// NEON instructions by the encodings of the Arm Architecture Reference Manual (C7.2), because Go's assembler lacks most of
// them. Registers are given as numbers, the destination first as in Arm's syntax, so that macros can compute them.

#define MRRR(op, d, n, m) WORD $((op) | (m)<<16 | (n)<<5 | (d))
#define MRR(op, d, n) WORD $((op) | (n)<<5 | (d))

// sdot vd.4s, vn.16b, vm.4b[i]
#define SDOT(d, n, m, i) MRRR(0x4f80e000 | ((i)&1)<<21 | ((i)>>1)<<11, d, n, m)
// smull vd.8h, vn.8b, vm.8b
#define SMULL(d, n, m) MRRR(0x0e20c000, d, n, m)
// smull2 vd.8h, vn.16b, vm.16b
#define SMULL2(d, n, m) MRRR(0x4e20c000, d, n, m)
// addp vd.8h, vn.8h, vm.8h
#define ADDPH(d, n, m) MRRR(0x4e60bc00, d, n, m)
// sadalp vd.4s, vn.8h
#define SADALP(d, n) MRR(0x4e606800, d, n)
// smlal vd.4s, vn.4h, vm.h[i], m below 16
#define SMLAL(d, n, m, i) MRRR(0x0f402000 | ((i)>>2)<<11 | (((i)>>1)&1)<<21 | ((i)&1)<<20, d, n, m)
// smlal2 vd.4s, vn.8h, vm.h[i], m below 16
#define SMLAL2(d, n, m, i) MRRR(0x4f402000 | ((i)>>2)<<11 | (((i)>>1)&1)<<21 | ((i)&1)<<20, d, n, m)

// fmul vd.4s, vn.4s, vm.4s
#define FMUL4(d, n, m) MRRR(0x6e20dc00, d, n, m)
// fmul vd.4s, vn.4s, vm.s[i]
#define FMULI(d, n, m, i) MRRR(0x4f809000 | ((i)&1)<<21 | ((i)>>1)<<11, d, n, m)
// fmla vd.4s, vn.4s, vm.4s
#define FMLA4(d, n, m) MRRR(0x4e20cc00, d, n, m)
// fmla vd.4s, vn.4s, vm.s[i]
#define FMLAI(d, n, m, i) MRRR(0x4f801000 | ((i)&1)<<21 | ((i)>>1)<<11, d, n, m)
// fadd vd.4s, vn.4s, vm.4s
#define FADD4(d, n, m) MRRR(0x4e20d400, d, n, m)
// fneg vd.4s, vn.4s
#define FNEG4(d, n) MRR(0x6ea0f800, d, n)
// scvtf vd.4s, vn.4s
#define SCVTF4(d, n) MRR(0x4e21d800, d, n)
// fcvtl vd.4s, vn.4h
#define FCVTL(d, n) MRR(0x0e217800, d, n)
// fcvtl2 vd.4s, vn.8h
#define FCVTL2(d, n) MRR(0x4e217800, d, n)

// dup vd.4s, vn.s[i]
#define DUP4(d, n, i) MRR(0x4e040400 | (i)<<19, d, n)
// mov vd.16b, vn.16b
#define MOV16(d, n) MRRR(0x4ea01c00, d, n, n)
// movi vd.2d, #0
#define ZERO(d) WORD $(0x6f00e400 | (d))
// movi vd.16b, #x
#define MOVI16(d, x) WORD $(0x4f00e400 | ((x)>>5)<<16 | ((x)&31)<<5 | (d))
// and vd.16b, vn.16b, vm.16b
#define AND16(d, n, m) MRRR(0x4e201c00, d, n, m)
// bic vd.16b, vn.16b, vm.16b
#define BIC16(d, n, m) MRRR(0x4e601c00, d, n, m)
// orr vd.16b, vn.16b, vm.16b
#define ORR16(d, n, m) MRRR(0x4ea01c00, d, n, m)
// eor vd.16b, vn.16b, vm.16b
#define EOR16(d, n, m) MRRR(0x6e201c00, d, n, m)
// sub vd.16b, vn.16b, vm.16b
#define SUB16(d, n, m) MRRR(0x6e208400, d, n, m)
// sub vd.8h, vn.8h, vm.8h
#define SUBH(d, n, m) MRRR(0x6e608400, d, n, m)
// tbl vd.16b, {vn.16b}, vm.16b
#define TBL16(d, n, m) MRRR(0x4e000000, d, n, m)
// cmtst vd.16b, vn.16b, vm.16b
#define CMTST16(d, n, m) MRRR(0x4e208c00, d, n, m)
// umax vd.16b, vn.16b, vm.16b
#define UMAX16(d, n, m) MRRR(0x6e206400, d, n, m)
// ushr vd.16b, vn.16b, #s
#define USHRB(d, n, s) MRR(0x6f000400 | (16-(s))<<16, d, n)
// shl vd.16b, vn.16b, #s
#define SHLB(d, n, s) MRR(0x4f005400 | (8+(s))<<16, d, n)
// ushr vd.8h, vn.8h, #s
#define USHRH(d, n, s) MRR(0x6f000400 | (32-(s))<<16, d, n)
// sshr vd.8h, vn.8h, #s
#define SSHRH(d, n, s) MRR(0x4f000400 | (32-(s))<<16, d, n)
// shl vd.8h, vn.8h, #s
#define SHLH(d, n, s) MRR(0x4f005400 | (16+(s))<<16, d, n)
// shl vd.4s, vn.4s, #s
#define SHLS(d, n, s) MRR(0x4f005400 | (32+(s))<<16, d, n)
// sxtl vd.4s, vn.4h
#define SXTL(d, n) MRR(0x0f10a400, d, n)
// sxtl2 vd.4s, vn.8h
#define SXTL2(d, n) MRR(0x4f10a400, d, n)
// uxtl vd.8h, vn.8b
#define UXTLB(d, n) MRR(0x2f08a400, d, n)
// uxtl2 vd.8h, vn.16b
#define UXTLB2(d, n) MRR(0x6f08a400, d, n)
// uxtl vd.4s, vn.4h
#define UXTL(d, n) MRR(0x2f10a400, d, n)
// uxtl2 vd.4s, vn.8h
#define UXTL2(d, n) MRR(0x6f10a400, d, n)
// shll vd.4s, vn.4h, #16
#define SHLL16(d, n) MRR(0x2e613800, d, n)
// shll2 vd.4s, vn.8h, #16
#define SHLL216(d, n) MRR(0x6e613800, d, n)
