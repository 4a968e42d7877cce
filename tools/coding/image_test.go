package coding

import (
	"bytes"
	"context"
	"encoding/base64"
	"image"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// TestReadFitsImages: a picture that servers would refuse is attached smaller, one that cannot be
// attached is an error, and no more are attached than servers take.
//
// Evidence: coding · Images are scaled to what servers take before they are attached
func TestReadFitsImages(t *testing.T) {
	var heavy, wide, small bytes.Buffer
	noise := image.NewNRGBA(image.Rect(0, 0, 1300, 1200))
	r := rand.New(rand.NewPCG(1, 1))
	for i := range noise.Pix {
		noise.Pix[i] = uint8(r.Uint32()) | byte(i%4/3*255)
	}
	fast := png.Encoder{CompressionLevel: png.BestSpeed}
	must(t, fast.Encode(&heavy, noise))
	must(t, fast.Encode(&wide, image.NewGray(image.Rect(0, 0, 9000, 10))))
	must(t, fast.Encode(&small, image.NewGray(image.Rect(0, 0, 4, 4))))
	if n := base64.StdEncoding.EncodedLen(heavy.Len()); n <= 5<<20 {
		t.Fatalf("the heavy picture has only %d bytes", n)
	}
	w := openWith(t, Config{Limits: Limits{Images: 3}}, files{
		"heavy.png": heavy.String(), "wide.png": wide.String(), "small.png": small.String(), "cut.png": heavy.String()[:heavy.Len()/2],
	})
	for name, want := range map[string]string{"heavy.png": "attached as image/jpeg", "wide.png": "9000×10 pixels (attached as image/png, ", "small.png": "4×4 pixels"} {
		parts, err := tryCtx(t, context.Background(), w, "read", args{"path": name})
		must(t, err)
		contains(t, agent.PartsText(parts), want)
		img := parts[len(parts)-1].(agent.Image)
		c, format, err := image.DecodeConfig(bytes.NewReader(img.Data))
		if err != nil || "image/"+format != img.MediaType || max(c.Width, c.Height) > 2000 || base64.StdEncoding.EncodedLen(len(img.Data)) > 5<<20 {
			t.Errorf("%s: %s %d×%d %v", name, img.MediaType, c.Width, c.Height, err)
		}
	}
	refused(t, w, "read", args{"path": "cut.png"}, "damaged")

	ts, err := w.Tools()
	must(t, err)
	var turns []agenttest.Turn
	for _, id := range []string{"1", "2", "3", "4"} {
		turns = append(turns, agenttest.Call(id, "read", `{"path":"small.png"}`))
	}
	a, err := agent.New(agent.Config{Model: agenttest.Script(append(turns, agenttest.Text("done"))...), Tools: ts})
	must(t, err)
	s := agent.NewSession()
	for _, err := range a.Run(context.Background(), s, agent.Text{Text: "look"}) {
		must(t, err)
	}
	count := 0
	for _, m := range s.Messages() {
		for _, p := range m.Parts {
			if r, ok := p.(agent.ToolResult); ok {
				if count++; r.IsError != (count == 4) || count == 4 && !strings.Contains(r.Text(), "holds 3 images already") {
					t.Errorf("read %d: %s", count, r.Text())
				}
			}
		}
	}
	if count != 4 {
		t.Errorf("%d results", count)
	}
}
