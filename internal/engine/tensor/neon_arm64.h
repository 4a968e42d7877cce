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

// What the vector kernels beside the products need.

// fmls vd.4s, vn.4s, vm.4s
#define FMLS4(d, n, m) MRRR(0x4ea0cc00, d, n, m)
// fsub vd.4s, vn.4s, vm.4s
#define FSUB4(d, n, m) MRRR(0x4ea0d400, d, n, m)
// fdiv vd.4s, vn.4s, vm.4s
#define FDIV4(d, n, m) MRRR(0x6e20fc00, d, n, m)
// fmax vd.4s, vn.4s, vm.4s
#define FMAX4(d, n, m) MRRR(0x4e20f400, d, n, m)
// fmin vd.4s, vn.4s, vm.4s
#define FMIN4(d, n, m) MRRR(0x4ea0f400, d, n, m)
// faddp vd.4s, vn.4s, vm.4s
#define FADDP4(d, n, m) MRRR(0x6e20d400, d, n, m)
// fmaxv sd, vn.4s
#define FMAXV(d, n) MRR(0x6e30f800, d, n)
// fminv sd, vn.4s
#define FMINV(d, n) MRR(0x6eb0f800, d, n)
// umaxv sd, vn.4s
#define UMAXV(d, n) MRR(0x6eb0a800, d, n)
// frintn vd.4s, vn.4s
#define FRINTN4(d, n) MRR(0x4e218800, d, n)
// fcvtns vd.4s, vn.4s
#define FCVTNS4(d, n) MRR(0x4e21a800, d, n)
// fcvtn vd.4h, vn.4s
#define FCVTN(d, n) MRR(0x0e216800, d, n)
// fcvtn2 vd.8h, vn.4s
#define FCVTN2(d, n) MRR(0x4e216800, d, n)
// fcvtl vd.2d, vn.2s
#define FCVTLD(d, n) MRR(0x0e617800, d, n)
// fcvtl2 vd.2d, vn.4s
#define FCVTLD2(d, n) MRR(0x4e617800, d, n)
// fmla vd.2d, vn.2d, vm.2d
#define FMLAD(d, n, m) MRRR(0x4e60cc00, d, n, m)
// fadd vd.2d, vn.2d, vm.2d
#define FADDD2(d, n, m) MRRR(0x4e60d400, d, n, m)
// faddp dd, vn.2d
#define FADDPD(d, n) MRR(0x7e70d800, d, n)
// fcmgt vd.4s, vn.4s, vm.4s
#define FCMGT4(d, n, m) MRRR(0x6ea0e400, d, n, m)
// cmgt vd.4s, vn.4s, vm.4s
#define CMGT4(d, n, m) MRRR(0x4ea03400, d, n, m)
// cmge vd.4s, vn.4s, vm.4s
#define CMGE4(d, n, m) MRRR(0x4ea03c00, d, n, m)
// bit vd.16b, vn.16b, vm.16b
#define BIT16(d, n, m) MRRR(0x6ea01c00, d, n, m)
// add vd.4s, vn.4s, vm.4s
#define ADD4(d, n, m) MRRR(0x4ea08400, d, n, m)
// sub vd.4s, vn.4s, vm.4s
#define SUB4(d, n, m) MRRR(0x6ea08400, d, n, m)
// sshr vd.4s, vn.4s, #s
#define SSHRS(d, n, s) MRR(0x4f000400 | (64-(s))<<16, d, n)
// sqxtn vd.4h, vn.4s
#define SQXTNH(d, n) MRR(0x0e614800, d, n)
// sqxtn2 vd.8h, vn.4s
#define SQXTNH2(d, n) MRR(0x4e614800, d, n)
// sqxtn vd.8b, vn.8h
#define SQXTNB(d, n) MRR(0x0e214800, d, n)
// sqxtn2 vd.16b, vn.8h
#define SQXTNB2(d, n) MRR(0x4e214800, d, n)
// saddlv hd, vn.16b
#define SADDLV(d, n) MRR(0x4e303800, d, n)
// sxtl vd.8h, vn.8b
#define SXTLB(d, n) MRR(0x0f08a400, d, n)
// sxtl2 vd.8h, vn.16b
#define SXTLB2(d, n) MRR(0x4f08a400, d, n)
