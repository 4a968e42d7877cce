package coding

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/coding/internal/picture"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// imageType returns the media type of a picture that can be attached, or "". BMP and TIFF are
// converted, since no server takes them.
func imageType(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return "image/gif"
	case len(data) >= 12 && bytes.HasPrefix(data, []byte("RIFF")) && string(data[8:12]) == "WEBP":
		return "image/webp"
	case len(data) >= 26 && bytes.HasPrefix(data, []byte("BM")) && bytes.Equal(data[6:10], make([]byte, 4)):
		return "image/bmp"
	case bytes.HasPrefix(data, []byte("II*\x00")), bytes.HasPrefix(data, []byte("MM\x00*")):
		return "image/tiff"
	}
	return ""
}

// imagesBytes limits the size in base64 of all pictures of a conversation: each request holds them
// all, and servers refuse one over 32 MB.
const imagesBytes = 24 << 20

// image returns a picture as an image part, in a form that servers take.
func (w *Workspace) image(ctx context.Context, rel string, data []byte, mediaType string) ([]agent.Part, error) {
	name := show.Path(rel)
	p, err := picture.Fit(data, mediaType, picture.Limits{Base64: w.cfg.Limits.ImageBytes, Side: w.cfg.Limits.ImageSide})
	if err != nil {
		return nil, fmt.Errorf("%s is an image of %s: %w", name, show.Size(int64(len(data))), err)
	}
	count, size := sessionImages(ctx)
	switch {
	case count >= w.cfg.Limits.Images:
		return nil, fmt.Errorf("%s cannot be attached: the conversation holds %d images already, and servers refuse more; go on without it, or have it described by a sub-agent", name, count)
	case size+base64.StdEncoding.EncodedLen(len(p.Data)) > imagesBytes:
		return nil, fmt.Errorf("%s cannot be attached: the images of the conversation have %s already, and servers refuse more; make a smaller copy, or have it described by a sub-agent", name, show.Size(int64(size)))
	}
	text := fmt.Sprintf("%s: %s, %s", name, mediaType, show.Size(int64(len(data))))
	if p.Width > 0 {
		text += fmt.Sprintf(", %d×%d pixels", p.Width, p.Height)
	}
	if p.Changed != "" {
		text += fmt.Sprintf(" (attached as %s, %s, %s)", p.Type, show.Size(int64(len(p.Data))), p.Changed)
	}
	return []agent.Part{agent.Text{Text: text}, agent.Image{MediaType: p.Type, Data: p.Data}}, nil
}

// sessionImages returns the number of pictures that ctx's session holds, and their size in base64.
func sessionImages(ctx context.Context) (count, size int) {
	session := agent.SessionFrom(ctx)
	if session == nil {
		return 0, 0
	}
	var parts func(ps []agent.Part)
	parts = func(ps []agent.Part) {
		for _, p := range ps {
			switch p := p.(type) {
			case agent.Image:
				count++
				size += base64.StdEncoding.EncodedLen(len(p.Data))
			case agent.ToolResult:
				parts(p.Parts)
			}
		}
	}
	for _, m := range session.Messages() {
		parts(m.Parts)
	}
	return count, size
}
