// Package picture brings pictures into a form that the servers of models take: PNG, JPEG, GIF or
// WebP, with a limited number of bytes and pixels.
//
// [Fit] leaves a picture that is within the limits alone. Otherwise it is scaled down, turned as
// its EXIF data says, and encoded again, as PNG if that fits and as JPEG if not.
package picture

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// Limits bounds the pictures that a server takes.
type Limits struct {
	Base64 int // bytes of the content in base64
	Side   int // pixels of the longer side
}

// Picture is a picture that is within its limits.
type Picture struct {
	Type          string // media type
	Data          []byte
	Width, Height int    // of the original; 0 if unknown
	Changed       string // how it differs from the original, "" if not at all
}

const (
	maxPixels = 100_000_000 // of a picture that is decoded; each takes up to eight bytes of memory
	smallest  = 64          // pixels of the longer side below which nothing is gained
)

// Fit returns the picture in data, of which mediaType is the format, within the limits.
func Fit(data []byte, mediaType string, l Limits) (*Picture, error) {
	f, known := formats[mediaType]
	if !known {
		return nil, fmt.Errorf("the format %s cannot be attached; convert it to PNG", mediaType)
	}
	p := &Picture{Type: mediaType, Data: data}
	head, err := f.config(bytes.NewReader(data))
	if err == nil {
		p.Width, p.Height = head.Width, head.Height
	}
	fits := f.sent && base64.StdEncoding.EncodedLen(len(data)) <= l.Base64 && max(p.Width, p.Height) <= l.Side
	switch {
	case err != nil && damaged(err):
		return nil, errDamaged
	case err != nil && fits:
		return p, nil // a variant that only the server may know
	case err != nil:
		return nil, fmt.Errorf("it is too large to be attached and cannot be read (%w); make a smaller copy as PNG and read that", err)
	case p.Width <= 0 || p.Height <= 0:
		return nil, errDamaged
	case p.Width > maxPixels/p.Height:
		return nil, fmt.Errorf("it has %d×%d pixels, too many to be made smaller here; make a smaller copy and read that", p.Width, p.Height)
	}
	img, err := f.decode(bytes.NewReader(data))
	switch {
	case err != nil && damaged(err):
		return nil, errDamaged
	case fits:
		return p, nil
	case err != nil:
		return nil, fmt.Errorf("it is too large to be attached and cannot be decoded (%w); make a smaller copy as PNG and read that", err)
	}
	return p, p.shrink(img, orientation(data, mediaType), l)
}

var errDamaged = errors.New("it is damaged: the data ends early or is not valid, and servers refuse such images; make it again")

// damaged reports whether a picture ends early or contradicts itself.
func damaged(err error) bool {
	if _, bad := errors.AsType[png.FormatError](err); bad {
		return true
	}
	if _, bad := errors.AsType[jpeg.FormatError](err); bad {
		return true
	}
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

// A format is one that pictures are read from.
type format struct {
	sent   bool // servers take it as it is
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

var formats = map[string]format{
	"image/png":  {true, png.DecodeConfig, png.Decode},
	"image/jpeg": {true, jpeg.DecodeConfig, jpeg.Decode},
	"image/gif":  {true, gif.DecodeConfig, gif.Decode},
	"image/webp": {true, webp.DecodeConfig, webp.Decode},
	"image/bmp":  {false, bmp.DecodeConfig, bmp.Decode},
	"image/tiff": {false, tiff.DecodeConfig, tiff.Decode},
}

// shrink replaces p by img within the limits.
func (p *Picture) shrink(img image.Image, turn int, l Limits) error {
	for side := min(l.Side, max(p.Width, p.Height)); side >= smallest || side == max(p.Width, p.Height); side = side * 3 / 4 {
		small := turned(scaled(img, side), turn)
		for _, e := range encoders(small, p.Type) {
			var b bytes.Buffer
			if err := e.encode(&b); err != nil {
				return fmt.Errorf("it cannot be encoded again: %w", err)
			}
			if base64.StdEncoding.EncodedLen(b.Len()) > l.Base64 {
				continue
			}
			p.Changed = "converted"
			if size := small.Bounds(); max(size.Dx(), size.Dy()) != max(p.Width, p.Height) {
				p.Changed = fmt.Sprintf("scaled to %d×%d pixels", size.Dx(), size.Dy())
			}
			if p.Type == "image/gif" {
				p.Changed += ", the first frame only"
			}
			p.Type, p.Data = e.mediaType, b.Bytes()
			return nil
		}
	}
	return fmt.Errorf("even its smallest copy has more than the %d bytes that can be attached; make a smaller copy and read that", l.Base64)
}

// An encoder is one way to encode a picture.
type encoder struct {
	mediaType string
	encode    func(io.Writer) error
}

// encoders returns the ways to encode img, the best first. A photo is not tried as PNG.
func encoders(img image.Image, was string) []encoder {
	ways := []encoder{{"image/png", func(w io.Writer) error { return png.Encode(w, img) }}}
	if was == "image/jpeg" {
		ways = nil
	}
	for _, quality := range []int{90, 75} {
		ways = append(ways, encoder{"image/jpeg", func(w io.Writer) error {
			return jpeg.Encode(w, opaque(img), &jpeg.Options{Quality: quality})
		}})
	}
	return ways
}

// opaque puts a picture on white, since JPEG has no transparency.
func opaque(img image.Image) image.Image {
	if o, ok := img.(interface{ Opaque() bool }); ok && o.Opaque() {
		return img
	}
	out := image.NewRGBA(img.Bounds())
	draw.Draw(out, out.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(out, out.Bounds(), img, img.Bounds().Min, draw.Over)
	return out
}

// scaled returns img with a longer side of at most side pixels.
func scaled(img image.Image, side int) image.Image {
	size := img.Bounds().Size()
	long := max(size.X, size.Y)
	if long <= side {
		return img
	}
	out := image.NewRGBA(image.Rect(0, 0, max(1, size.X*side/long), max(1, size.Y*side/long)))
	var how draw.Scaler = draw.CatmullRom
	if size.X*size.Y > 20_000_000 {
		how = draw.ApproxBiLinear // the other takes seconds
	}
	how.Scale(out, out.Bounds(), img, img.Bounds(), draw.Src, nil)
	return out
}
