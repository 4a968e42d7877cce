package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tileMul2 is tileMul for AVX2 and FMA: four vectors for 32 columns, at most two rows. The sums are
// the same, bit for bit.
func tileMul2(typ string, n int) {
	TEXT(fmt.Sprintf("avx2TileMul%sx%d", typ, n), NOSPLIT, fmt.Sprintf("func(dst *float32, ds int, a *float32, as int, b *%s, bs, n int, fix *float32)", elements[typ]))
	Pragma("noescape")
	dst, ds, a, as, b, bs, count, fix := arg("dst"), arg("ds"), arg("a"), arg("as"), arg("b"), arg("bs"), arg("n"), arg("fix")
	out, in := newRows(dst, ds, n), newRows(a, as, n)
	acc := make([][4]reg.VecVirtual, n)
	for r := range acc {
		for i := range acc[r] {
			acc[r][i] = YMM()
		}
	}
	TESTQ(fix, fix)
	JZ(LabelRef("fresh"))
	for r := range acc {
		f := narrow.spread(at(fix, 4*r))
		for i := range acc[r] {
			VMULPS(out.mem(r, 32*i), f, acc[r][i])
		}
	}
	JMP(LabelRef("start"))
	Label("fresh")
	for r := range acc {
		for i := range acc[r] {
			VXORPS(acc[r][i], acc[r][i], acc[r][i])
		}
	}
	Label("start")
	TESTQ(count, count)
	JZ(LabelRef("done"))
	Label("loop")
	PREFETCHT0(at(b, ahead))
	var x [4]reg.VecVirtual
	for i := range x {
		x[i] = YMM()
		switch typ {
		case "F16":
			VCVTPH2PS(at(b, 16*i), x[i])
		case "F32":
			VMOVUPS(at(b, 32*i), x[i])
		default:
			VPMOVSXBD(at(b, 8*i), x[i])
			VCVTDQ2PS(x[i], x[i])
		}
	}
	for r := range acc {
		f := narrow.spread(in.mem(r, 0))
		for i := range x {
			VFMADD231PS(x[i], f, acc[r][i])
		}
	}
	ADDQ(bs, b)
	ADDQ(Imm(4), a)
	DECQ(count)
	JNZ(LabelRef("loop"))
	Label("done")
	for r := range acc {
		for i := range acc[r] {
			VMOVUPS(acc[r][i], out.mem(r, 32*i))
		}
	}
	VZEROUPPER()
	RET()
}

// scoresQ8two is scoresQ8 for AVX2, one query and eight positions at a time. Keys become signed
// again. The query's magnitude is multiplied by the key with the query's sign. The sum of two such
// products fits 16 bits, since no factor exceeds 127.
func scoresQ8two() {
	TEXT("avx2ScoresQ8", NOSPLIT, "func(dst *float32, q *int8, qs *float32, keys *byte, ks *uint16, blocks int)")
	Pragma("noescape")
	dst, q, qs, keys, ks, blocks := arg("dst"), arg("q"), arg("qs"), arg("keys"), arg("ks"), arg("blocks")
	var acc [4]reg.VecVirtual
	for i := range acc {
		acc[i] = YMM()
		VXORPS(acc[i], acc[i], acc[i])
	}
	ones, sign := YMM(), YMM()
	g := GP32()
	MOVL(U32(0x00010001), g)
	x := XMM()
	MOVD(g, x)
	VPBROADCASTD(x, ones)
	MOVL(U32(0x80808080), g)
	MOVD(g, x)
	VPBROADCASTD(x, sign)
	Label("block")
	var dot [4]reg.VecVirtual
	for i := range dot {
		dot[i] = YMM()
		VPXOR(dot[i], dot[i], dot[i])
	}
	for d := range 8 {
		f, size := YMM(), YMM()
		VPBROADCASTD(at(q, d*4), f)
		VPABSB(f, size)
		for i := range dot {
			k := YMM()
			VPXOR(at(keys, d*128+i*32), sign, k)
			VPSIGNB(f, k, k)
			VPMADDUBSW(k, size, k)
			VPMADDWD(ones, k, k)
			VPADDD(k, dot[i], dot[i])
		}
	}
	f := narrow.spread(at(qs, 0))
	for i := range dot {
		s := YMM()
		VCVTPH2PS(at(ks, 16*i), s)
		VMULPS(s, f, s)
		VCVTDQ2PS(dot[i], dot[i])
		VFMADD231PS(dot[i], s, acc[i])
	}
	ADDQ(Imm(32), q)
	ADDQ(Imm(4), qs)
	ADDQ(U32(1024), keys)
	ADDQ(Imm(64), ks)
	DECQ(blocks)
	JNZ(LabelRef("block"))
	for i := range acc {
		VMOVUPS(acc[i], at(dst, 32*i))
	}
	VZEROUPPER()
	RET()
}
