package picture

import (
	"bytes"
	"encoding/binary"
	"image"
)

// orientation returns how a JPEG is to be turned, from 1 (not at all) to 8, as EXIF numbers it
// (https://www.cipa.jp/std/documents/e/DC-008-2012_E.pdf, tag 0x0112).
func orientation(data []byte, mediaType string) int {
	if mediaType != "image/jpeg" {
		return 1
	}
	for data = data[min(2, len(data)):]; len(data) >= 4 && data[0] == 0xff; {
		marker, n := data[1], int(binary.BigEndian.Uint16(data[2:]))
		if marker == 0xda || n < 2 || n+2 > len(data) {
			return 1 // the picture begins, or is broken
		}
		if segment := data[4 : n+2]; marker == 0xe1 && bytes.HasPrefix(segment, []byte("Exif\x00\x00")) {
			return exifOrientation(segment[6:])
		}
		data = data[n+2:]
	}
	return 1
}

// exifOrientation looks the tag up in the first directory of a TIFF structure.
func exifOrientation(tiff []byte) int {
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if tiff[0] == 'M' {
		order = binary.BigEndian
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 1
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < 12 {
			return 1
		}
		if order.Uint16(entries) == 0x0112 {
			if v := int(order.Uint16(entries[8:])); v >= 1 && v <= 8 {
				return v
			}
			return 1
		}
		entries = entries[12:]
	}
	return 1
}

// turned returns img as an orientation asks for.
func turned(img image.Image, how int) image.Image {
	if how <= 1 {
		return img
	}
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	size := image.Rect(0, 0, w, h)
	if how >= 5 {
		size = image.Rect(0, 0, h, w)
	}
	out := image.NewRGBA(size)
	for y := range h {
		for x := range w {
			to := [9]image.Point{{}, {X: x, Y: y}, {X: w - 1 - x, Y: y}, {X: w - 1 - x, Y: h - 1 - y}, {X: x, Y: h - 1 - y},
				{X: y, Y: x}, {X: h - 1 - y, Y: x}, {X: h - 1 - y, Y: w - 1 - x}, {X: y, Y: w - 1 - x}}[how]
			out.Set(to.X, to.Y, img.At(b.Min.X+x, b.Min.Y+y))
		}
	}
	return out
}
