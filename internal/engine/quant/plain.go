package quant

import (
	"encoding/binary"
	"math"
)

func decodeF32(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[i*4:]))
	}
}

func encodeF32(dst []byte, src []float32) {
	for i, v := range src {
		binary.LittleEndian.PutUint32(dst[i*4:], math.Float32bits(v))
	}
}

func decodeF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = HalfToFloat(binary.LittleEndian.Uint16(src[i*2:]))
	}
}

func encodeF16(dst []byte, src []float32) {
	for i, v := range src {
		binary.LittleEndian.PutUint16(dst[i*2:], FloatToHalf(v))
	}
}

func decodeBF16(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = BF16ToFloat(binary.LittleEndian.Uint16(src[i*2:]))
	}
}

func encodeBF16(dst []byte, src []float32) {
	for i, v := range src {
		binary.LittleEndian.PutUint16(dst[i*2:], FloatToBF16(v))
	}
}
