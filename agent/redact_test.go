package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

// picky is a model behind a server that refuses requests by their pictures.
type picky struct {
	refuse  func(images int, last *agent.Image) *agent.ModelError
	answers []turn // to the requests that are not refused
	reqs    []agent.Request
}

func (m *picky) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		m.reqs = append(m.reqs, *req)
		if err := m.refuse(countImages(req.Messages)); err != nil {
			yield(nil, err)
			return
		}
		answer := m.answers[0]
		m.answers = m.answers[1:]
		answer(ctx, req, yield)
	}
}

func countImages(ms []agent.Message) (n int, last *agent.Image) {
	for _, m := range ms {
		for _, p := range m.Parts {
			parts := []agent.Part{p}
			if r, ok := p.(agent.ToolResult); ok {
				parts = r.Parts
			}
			for _, p := range parts {
				if img, ok := p.(agent.Image); ok {
					n, last = n+1, &img
				}
			}
		}
	}
	return n, last
}

func serverSays(status int, kind agent.ErrorKind, text string) *agent.ModelError {
	return &agent.ModelError{Kind: kind, Status: status, Provider: "test", Err: errors.New(text)}
}

// looker returns a tool whose results hold pictures.
func looker() agent.Tool {
	return newTool("look", agent.ReadOnly("x"), func(_ context.Context, args string) (*agent.ToolResult, error) {
		return &agent.ToolResult{Parts: []agent.Part{agent.Text{Text: "picture"}, agent.Image{MediaType: "image/png", Data: []byte(strings.Repeat(args, 100_000))[:min(len(args)*100_000, 1_200_000)]}}}, nil
	})
}

// TestRefusedPicture: a picture that the server refuses is taken out of the history once, with the
// server's words in its place. The run goes on, and so do later runs and a session opened again.
//
// Evidence: loop · A picture that a server refuses is taken out of the history, and the run goes on
func TestRefusedPicture(t *testing.T) {
	for name, says := range map[string]*agent.ModelError{
		"anthropic size":    serverSays(400, agent.ErrInvalid, "messages.1.content.0.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes"),
		"anthropic pixels":  serverSays(400, agent.ErrInvalid, "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels"),
		"anthropic broken":  serverSays(400, agent.ErrInvalid, "Could not process image"),
		"openai format":     serverSays(400, agent.ErrInvalid, "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp']."),
		"openai text model": serverSays(400, agent.ErrInvalid, "Invalid content type. image_url is only supported by certain models."),
		"llama.cpp":         serverSays(501, agent.ErrUnsupported, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
		"vllm":              serverSays(400, agent.ErrInvalid, "At most 0 image(s) may be provided in one prompt."),
		"openrouter":        serverSays(404, agent.ErrInvalid, "No endpoints found that support image input"),
		"deepseek":          serverSays(400, agent.ErrInvalid, "Failed to deserialize the JSON body into the target type: messages[2]: unknown variant `image_url`, expected `text`"),
		"groq":              serverSays(400, agent.ErrInvalid, "'messages.3' : for 'role:tool' the following must be satisfied[('messages.3.content' : value must be a string)]"),
		"own check":         serverSays(0, agent.ErrUnsupported, "an image is of type \"image/bmp\"; convert it to PNG, JPEG, GIF or WebP"),
		"body too large":    serverSays(413, agent.ErrContextLength, "Request Entity Too Large"),
	} {
		t.Run(name, func(t *testing.T) {
			m := &picky{refuse: func(n int, _ *agent.Image) *agent.ModelError {
				if n > 0 {
					return says
				}
				return nil
			}, answers: []turn{calls(tc{"1", "look", `"aaaaaaaaaaaa"`}), say("I cannot see it"), say("4")}}
			dir := t.TempDir()
			s, err := agent.CreateSession(dir, agent.SessionOptions{NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			a := configured(t, agent.Config{Model: m, Tools: []agent.Tool{looker()}})
			res, evs := run(t, a, s, "look")
			if res.Stop != agent.StopDone || res.Text() != "I cannot see it" {
				t.Fatalf("%s %q %v", res.Stop, res.Text(), res.Err)
			}
			events := 0
			for _, ev := range evs {
				if r, ok := ev.(agent.Redacted); ok && r.Parts == 1 && errors.Is(r.Err, says.Err) {
					events++
				}
			}
			got := resultTexts(s, 0)[0]
			if n, _ := countImages(s.Messages()); n != 0 || events != 1 || s.Epoch() != 1 || !strings.Contains(got, "An image (image/png, ") || !strings.Contains(got, says.Err.Error()[:20]) {
				t.Errorf("%d events, epoch %d, %q", events, s.Epoch(), got)
			}
			before := asJSON(t, s.Messages())
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s, _, err = agent.OpenSession(filepath.Join(dir, s.ID()+".jsonl"), agent.SessionOptions{NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if d := cmp.Diff(before, asJSON(t, s.Messages())); d != "" || s.Epoch() != 1 {
				t.Errorf("opened again, epoch %d (-want +got):\n%s", s.Epoch(), d)
			}
			if res, _ := run(t, a, s, "2+2?"); res.Stop != agent.StopDone || res.Text() != "4" {
				t.Errorf("the next run: %s %v", res.Stop, res.Err)
			}
			last := m.reqs[len(m.reqs)-1]
			if !strings.HasPrefix(asJSON(t, last.Messages), strings.TrimSuffix(before, "]")) {
				t.Error("the next request does not begin with the history before it")
			}
			f, err := s.Fork(-1, agent.SessionOptions{NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(asJSON(t, s.Messages()), asJSON(t, f.Messages())); d != "" {
				t.Errorf("the fork (-want +got):\n%s", d)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func asJSON(t *testing.T, ms []agent.Message) string {
	t.Helper()
	b, err := json.Marshal(ms)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestTooManyPictures: if the server takes fewer pictures than there are, the older ones go first.
func TestTooManyPictures(t *testing.T) {
	m := &picky{refuse: func(n int, _ *agent.Image) *agent.ModelError {
		if n > 2 {
			return serverSays(400, agent.ErrInvalid, "Too many images in request: at most 2 images are allowed")
		}
		return nil
	}, answers: []turn{calls(tc{"1", "look", `"a"`}), calls(tc{"2", "look", `"b"`}), calls(tc{"3", "look", `"c"`}), say("done")}}
	s := agent.NewSession()
	res, _ := run(t, configured(t, agent.Config{Model: m, Tools: []agent.Tool{looker()}}), s, "look")
	n, last := countImages(s.Messages())
	if res.Stop != agent.StopDone || n != 1 || !bytes.HasPrefix(last.Data, []byte(`"c"`)) {
		t.Errorf("%s: %d pictures are left", res.Stop, n)
	}
}

// TestNewPictureGoesFirst: a refused picture takes those with it that the server had accepted only
// if the request is refused without it, too.
func TestNewPictureGoesFirst(t *testing.T) {
	m := &picky{refuse: func(_ int, last *agent.Image) *agent.ModelError {
		if last != nil && bytes.HasPrefix(last.Data, []byte(`"bad"`)) {
			return serverSays(400, agent.ErrInvalid, "Could not process image")
		}
		return nil
	}, answers: []turn{calls(tc{"1", "look", `"a"`}), calls(tc{"2", "look", `"bad"`}), say("done")}}
	s := agent.NewSession()
	res, _ := run(t, configured(t, agent.Config{Model: m, Tools: []agent.Tool{looker()}}), s, "look")
	if n, _ := countImages(s.Messages()); res.Stop != agent.StopDone || n != 1 {
		t.Errorf("%s: %d pictures are left", res.Stop, n)
	}
}

// TestOtherRefusals: an error that is not about a picture, or that stays without pictures, ends the
// run as before.
func TestOtherRefusals(t *testing.T) {
	for _, c := range []struct {
		says     *agent.ModelError
		requests int
	}{
		{serverSays(400, agent.ErrInvalid, "tools.0.name: String should match pattern"), 2},
		{serverSays(401, agent.ErrAuth, "no access to image models"), 2},
		{serverSays(429, agent.ErrRateLimit, "too many images per minute"), 7},
		{serverSays(400, agent.ErrInvalid, "image input is broken today"), 3},
	} {
		first := true
		m := &picky{refuse: func(int, *agent.Image) *agent.ModelError {
			if first {
				first = false
				return nil
			}
			return c.says
		}, answers: []turn{calls(tc{"1", "look", `"a"`}), say("x"), say("x")}}
		s := agent.NewSession()
		var res *agent.Result
		for ev := range configured(t, agent.Config{Model: m, Tools: []agent.Tool{looker()}}).Run(context.Background(), s, agent.Text{Text: "go"}) {
			if d, ok := ev.(agent.Done); ok {
				res = d.Result
			}
		}
		if res.Stop != agent.StopError || !errors.Is(res.Err, c.says) || len(m.reqs) != c.requests {
			t.Errorf("%v: %s after %d requests", c.says, res.Stop, len(m.reqs))
		}
	}
}
