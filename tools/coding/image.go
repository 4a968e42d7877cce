package coding

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif"  // image.DecodeConfig
	_ "image/jpeg" // as above
	_ "image/png"  // as above

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// imageType returns the media type of a picture that models accept, or "".
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
	}
	return ""
}

// image returns a picture as an image part.
func (w *Workspace) image(rel string, data []byte, mediaType string) ([]agent.Part, error) {
	if len(data) > w.cfg.Limits.ImageBytes {
		return nil, fmt.Errorf("%s is an image of %s, more than the %s that can be attached; make a smaller copy and read that", show.Path(rel), show.Size(int64(len(data))), show.Size(int64(w.cfg.Limits.ImageBytes)))
	}
	text := fmt.Sprintf("%s: %s, %s", show.Path(rel), mediaType, show.Size(int64(len(data))))
	if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		text += fmt.Sprintf(", %d×%d pixels", c.Width, c.Height)
	}
	return []agent.Part{agent.Text{Text: text}, agent.Image{MediaType: mediaType, Data: data}}, nil
}
