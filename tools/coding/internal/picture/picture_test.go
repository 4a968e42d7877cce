package picture

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

var servers = Limits{Base64: 5 << 20, Side: 2000}

// noise returns a picture that does not compress; share of its pixels are random.
func noise(w, h int, share float64) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 1))
	for y := range h {
		for x := range w {
			c := color.NRGBA{R: uint8(x), G: uint8(y), B: 100, A: 255}
			if r.Float64() < share {
				v := r.Uint32()
				c = color.NRGBA{uint8(v), uint8(v >> 8), uint8(v >> 16), 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

func encode(t testing.TB, img image.Image, as string) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch as {
	case "image/png":
		err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, img)
	case "image/jpeg":
		err = jpeg.Encode(&b, img, &jpeg.Options{Quality: 95})
	case "image/gif":
		err = gif.Encode(&b, img, nil)
	case "image/bmp":
		err = bmp.Encode(&b, img)
	case "image/tiff":
		err = tiff.Encode(&b, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestFit: what comes out is within the limits and can be decoded; what was within them is
// untouched.
func TestFit(t *testing.T) {
	small, flat := noise(30, 20, 1), image.NewGray(image.Rect(0, 0, 9000, 300))
	for name, c := range map[string]struct {
		img     image.Image
		as      string
		want    string // media type
		changed string
		long    int // the longer side afterwards
	}{
		"small png":  {small, "image/png", "image/png", "", 30},
		"small jpeg": {small, "image/jpeg", "image/jpeg", "", 30},
		"small gif":  {small, "image/gif", "image/gif", "", 30},
		"bmp":        {small, "image/bmp", "image/png", "converted", 30},
		"tiff":       {small, "image/tiff", "image/png", "converted", 30},
		"wide":       {flat, "image/png", "image/png", "scaled to 2000×66 pixels", 2000},
		"wide gif":   {image.NewPaletted(image.Rect(0, 0, 2500, 10), color.Palette{color.Black, color.White}), "image/gif", "image/png", "the first frame only", 2000},
		"photo":      {noise(2400, 1200, 0.01), "image/jpeg", "image/jpeg", "scaled to 2000×1000 pixels", 2000},
		"heavy":      {noise(1300, 1100, 1), "image/png", "image/jpeg", "converted", 1300},
	} {
		data := encode(t, c.img, c.as)
		p, err := Fit(data, c.as, servers)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, format, err := image.DecodeConfig(bytes.NewReader(p.Data))
		if err != nil || "image/"+format != p.Type || p.Type != c.want || max(got.Width, got.Height) != c.long || base64.StdEncoding.EncodedLen(len(p.Data)) > servers.Base64 {
			t.Errorf("%s: %s, %d×%d, %d bytes: %v", name, p.Type, got.Width, got.Height, len(p.Data), err)
		}
		if !strings.Contains(p.Changed, c.changed) || (c.changed == "") != bytes.Equal(p.Data, data) || p.Width != c.img.Bounds().Dx() {
			t.Errorf("%s: changed %q, width %d", name, p.Changed, p.Width)
		}
	}
}

// TestFitRefuses: damaged pictures, and those that would need too much memory, are errors that say
// what to do.
func TestFitRefuses(t *testing.T) {
	whole := encode(t, noise(100, 100, 1), "image/png")
	bomb := bytes.Clone(whole)
	binary.BigEndian.PutUint32(bomb[16:], 200_000)
	binary.BigEndian.PutUint32(bomb[20:], 200_000)
	for name, c := range map[string]struct {
		data []byte
		as   string
		l    Limits
		want string
	}{
		"cut off":     {whole[:len(whole)/2], "image/png", servers, "damaged"},
		"head only":   {whole[:12], "image/png", servers, "damaged"},
		"cut jpeg":    {encode(t, noise(100, 100, 1), "image/jpeg")[:700], "image/jpeg", servers, "damaged"},
		"bad header":  {bomb, "image/png", servers, "damaged"},
		"tiny limit":  {whole, "image/png", Limits{Base64: 10, Side: 2000}, "more than the 10 bytes"},
		"other":       {whole, "image/avif", servers, "convert it to PNG"},
		"unknown big": {append([]byte("RIFF\x00\x00\x00\x00WEBPVP8X"), make([]byte, 6<<20)...), "image/webp", servers, "smaller copy"},
	} {
		if p, err := Fit(c.data, c.as, c.l); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v %v", name, p, err)
		}
	}
	binary.BigEndian.PutUint32(bomb[29:], crcOf(bomb[12:29]))
	if _, err := Fit(bomb, "image/png", servers); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("a bomb: %v", err)
	}
}

// TestOrientation turns a scaled photo as its EXIF data says: the red corner is where a viewer
// shows it.
func TestOrientation(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 80, 40))
	for y := range 40 {
		for x := range 80 {
			img.Set(x, y, color.White)
			if x < 40 && y < 20 {
				img.Set(x, y, color.RGBA{255, 0, 0, 255})
			}
		}
	}
	plain := encode(t, img, "image/jpeg")
	corners := []image.Point{1: {10, 5}, 2: {50, 5}, 3: {50, 25}, 4: {10, 25}, 5: {5, 10}, 6: {25, 10}, 7: {25, 50}, 8: {5, 50}}
	for how := 1; how <= 8; how++ {
		exif := append([]byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00"), byte(how), 0, 0, 0, 0, 0, 0)
		data := append([]byte{0xff, 0xd8, 0xff, 0xe1, 0, byte(len(exif) + 2)}, exif...)
		data = append(data, plain[2:]...)
		if got := orientation(data, "image/jpeg"); got != how {
			t.Errorf("orientation %d read as %d", how, got)
			continue
		}
		p, err := Fit(data, "image/jpeg", Limits{Base64: 5 << 20, Side: 64})
		if err != nil {
			t.Fatal(err)
		}
		got, err := jpeg.Decode(bytes.NewReader(p.Data))
		if err != nil {
			t.Fatal(err)
		}
		if r, g, _, _ := got.At(corners[how].X, corners[how].Y).RGBA(); r < 0xc000 || g > 0x5000 {
			t.Errorf("orientation %d: the corner at %v is %x %x, size %v", how, corners[how], r, g, got.Bounds().Size())
		}
	}
}

func crcOf(b []byte) uint32 {
	c := ^uint32(0)
	for _, x := range b {
		c ^= uint32(x)
		for range 8 {
			if c&1 != 0 {
				c = c>>1 ^ 0xedb88320
			} else {
				c >>= 1
			}
		}
	}
	return ^c
}

// FuzzFit: no data makes Fit panic or return a picture over the limits.
func FuzzFit(f *testing.F) {
	img := noise(20, 10, 1)
	for _, as := range []string{"image/png", "image/jpeg", "image/gif", "image/bmp", "image/tiff"} {
		f.Add(encode(f, img, as), as)
	}
	l := Limits{Base64: 2000, Side: 16}
	f.Fuzz(func(t *testing.T, data []byte, as string) {
		if len(data) > 1<<16 {
			return
		}
		if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil && c.Width*c.Height > 1<<20 {
			return
		}
		p, err := Fit(data, as, l)
		if err == nil && base64.StdEncoding.EncodedLen(len(p.Data)) > l.Base64 {
			t.Fatalf("%d bytes", len(p.Data))
		}
	})
}
