package agent

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// Redaction replaces one part of the live history by a text. The part stays in the log.
type Redaction struct {
	Message int    `json:"message"`          // index in the live history
	Part    int    `json:"part"`             // index in the message
	Result  int    `json:"result,omitempty"` // for a part of a tool result: its index there, plus one
	Text    string `json:"text"`
}

// refusals limits how often parts are taken out of the history for one request.
const refusals = 2

// largeMedia is the number of bytes of pictures that may be why a request is too large.
const largeMedia = 1 << 20

// withoutRefused takes the pictures that a server does not accept out of the history, and reports
// whether it did. At first these are the ones that the server has not seen before, or the older
// ones if there are too many; if that is not enough, all of them.
func (r *run) withoutRefused(me *ModelError, tries int) (bool, error) {
	if tries >= refusals {
		return false, nil
	}
	s := r.session
	s.mu.Lock()
	found, size := s.media()
	if me.Status == http.StatusRequestEntityTooLarge && size < largeMedia || me.Status != http.StatusRequestEntityTooLarge && !refusesMedia(me) {
		found = nil
	}
	fresh, older := splitFresh(s.live, found)
	drop := fresh
	switch {
	case tries > 0 || len(fresh) == 0:
		drop = found
	case tooMany(me) && len(older) > 0:
		drop = older
	}
	for i := range drop {
		drop[i].Text = fmt.Sprintf("[%s was here. The model's server refused it, so it was taken out of the conversation: %s]", drop[i].Text, reason(me))
	}
	var err error
	if len(drop) > 0 {
		err = s.redact(drop)
	}
	s.mu.Unlock()
	if len(drop) == 0 || err != nil {
		return false, err
	}
	r.prompt.tokens = 0
	r.out.send(Redacted{Parts: len(drop), Err: me})
	return true, nil
}

// aboutMedia matches how servers speak of pictures and documents. The last alternatives are of
// servers whose messages can only be texts.
var aboutMedia = regexp.MustCompile(`(?i)\bimages?\b|image_|_image|\bpictures?\b|\bvision\b|multi-?modal|\bmm_|mmproj|\bdocuments?\b|\bpdfs?\b|media[_ ]?type|mime|base64|\battachments?\b|\binline_?data\b|\bfile part|content type|(must|should) be a string|expected a string|valid string|unknown variant`)

// refusesMedia reports whether a server refuses a request for the sake of a picture or document.
func refusesMedia(me *ModelError) bool {
	switch me.Kind {
	case ErrInvalid, ErrUnsupported, ErrUnknown:
	default:
		return false
	}
	switch me.Status {
	case 0, http.StatusBadRequest, http.StatusNotFound, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		return aboutMedia.MatchString(me.Error())
	}
	return false
}

// numerous matches complaints about the number of pictures, or about the size of all together.
var numerous = regexp.MustCompile(`(?i)too many|too large|at most \d+|maximum (number|of \d+)|more than \d+|many-image|limit of \d+|exceeds? the (number|limit of)|up to \d+`)

func tooMany(me *ModelError) bool {
	return me.Status == http.StatusRequestEntityTooLarge || numerous.MatchString(me.Error())
}

// reason returns the server's words, on one line and not too long.
func reason(me *ModelError) string {
	text := me.Error()
	if me.Err != nil {
		text = me.Err.Error()
	}
	text = strings.Join(strings.Fields(validText(text)), " ")
	if rs := []rune(text); len(rs) > 300 {
		text = string(rs[:300]) + "…"
	}
	return text
}

// media returns the places of all pictures in the live history, each with its description as Text,
// and their size in bytes. s.mu is held.
func (s *Session) media() (out []Redaction, size int) {
	for i, m := range s.live {
		if m.Role == RoleAssistant {
			continue
		}
		for j, p := range m.Parts {
			switch p := p.(type) {
			case Image:
				out, size = append(out, Redaction{Message: i, Part: j, Text: describeImage(p)}), size+len(p.Data)
			case ToolResult:
				for k, sub := range p.Parts {
					if img, ok := sub.(Image); ok {
						out = append(out, Redaction{Message: i, Part: j, Result: k + 1, Text: describeImage(img)})
						size += len(img.Data)
					}
				}
			}
		}
	}
	return out, size
}

func describeImage(p Image) string {
	kind := p.MediaType
	if kind == "" {
		kind = "by URL"
	}
	if len(p.Data) == 0 {
		return fmt.Sprintf("An image (%s)", kind)
	}
	return fmt.Sprintf("An image (%s, %d KiB)", kind, (len(p.Data)+1023)>>10)
}

// splitFresh separates the pictures that came after the last answer of the model, which no server
// has accepted yet, from the older ones.
func splitFresh(live []Message, found []Redaction) (fresh, older []Redaction) {
	last := -1
	for i, m := range live {
		if m.Role == RoleAssistant {
			last = i
		}
	}
	for _, f := range found {
		if f.Message > last {
			fresh = append(fresh, f)
		} else {
			older = append(older, f)
		}
	}
	return fresh, older
}

// redact logs redactions and applies them. s.mu is held.
func (s *Session) redact(rs []Redaction) error {
	live, err := redacted(s.live, rs)
	if err != nil {
		return err
	}
	if err := s.write(&Entry{Type: EntryRedaction, Redactions: rs}); err != nil {
		return err
	}
	s.setRedacted(live)
	return nil
}

// setRedacted replaces the live history by one of as many messages. What was requested before is
// not a beginning of what follows, so a new epoch begins.
func (s *Session) setRedacted(live []Message) {
	s.live = live
	s.liveSize, s.measured = 0, 0
	s.epoch++
}

// redacted returns a history with some parts replaced by texts; ms is unchanged.
func redacted(ms []Message, rs []Redaction) ([]Message, error) {
	out := append([]Message(nil), ms...)
	copied := map[int]bool{}
	for _, r := range rs {
		if r.Message < 0 || r.Message >= len(out) || r.Part < 0 || r.Part >= len(out[r.Message].Parts) {
			return nil, errors.New("a redaction names a part that is not in the history")
		}
		m := &out[r.Message]
		if !copied[r.Message] {
			m.Parts, copied[r.Message] = append([]Part(nil), m.Parts...), true
		}
		if r.Result == 0 {
			m.Parts[r.Part] = Text{Text: r.Text}
			continue
		}
		res, ok := m.Parts[r.Part].(ToolResult)
		if !ok || r.Result < 0 || r.Result > len(res.Parts) {
			return nil, errors.New("a redaction names a part of a tool result that is not in the history")
		}
		res.Parts = append([]Part(nil), res.Parts...)
		res.Parts[r.Result-1] = Text{Text: r.Text}
		m.Parts[r.Part] = res
	}
	return out, nil
}
