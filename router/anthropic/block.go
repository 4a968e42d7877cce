package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// appendText adds a text block, unless it has no visible character: the API refuses such blocks.
func appendText(blocks []block, text string) []block {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsSpace(r) }) < 0 {
		return blocks
	}
	return append(blocks, block{kind: blockText, text: text})
}

// appendThinking adds thinking that the server takes back: signed or redacted thinking by this
// provider or by an unknown one, and, for servers that sign nothing, their own thinking without a
// signature. The provider's own models refuse thinking by others, and unsigned thinking, which was
// cut short; the answer does not depend on it.
func (h *history) appendThinking(blocks []block, p agent.Thinking) []block {
	switch {
	case h.fit.noThinking, p.Provider != "" && p.Provider != h.thinker:
	case p.Redacted != nil:
		return append(blocks, block{kind: blockRedacted, text: string(p.Redacted)})
	case p.Signature != "", h.fit.unsigned && p.Provider == h.thinker && strings.TrimSpace(p.Text) != "":
		return append(blocks, block{kind: blockThinking, text: p.Text, id: p.Signature})
	}
	return blocks
}

// withThinking puts a placeholder in front of the calls of an answer without thinking, for servers
// that demand some.
func (h *history) withThinking(t *turn, blocks []block) []block {
	if !h.fit.placeholder || len(t.rest) > 0 {
		return blocks
	}
	for i := range blocks {
		switch blocks[i].kind {
		case blockThinking, blockRedacted:
			return blocks
		}
	}
	return append([]block{{kind: blockThinking, text: noThinkingText}}, blocks...)
}

// appendOpaque adds one of the provider's own blocks unchanged. A text block kept whole for its
// citations replaces the plain text before it.
func appendOpaque(blocks []block, p agent.Opaque) []block {
	if p.Provider != provider || !wire.IsObject(p.Data) {
		return blocks
	}
	if last := len(blocks) - 1; last >= 0 && blocks[last].kind == blockText {
		var cited struct{ Type, Text string }
		if json.Unmarshal(p.Data, &cited) == nil && cited.Type == "text" {
			plain := strings.TrimSuffix(blocks[last].text, cited.Text)
			blocks = appendText(blocks[:last], plain)
		}
	}
	return append(blocks, block{kind: blockRaw, raw: p.Data})
}

// orphanText renders a result whose call is not in the history as text.
func orphanText(r agent.ToolResult) string {
	return fmt.Sprintf("Result of an earlier tool call (%s):\n%s", r.CallID, r.Text())
}

// image is an image in the API's form: a URL, or a media type and content in base64.
type image struct {
	url, mediaType, base64 string
}

// wireImage converts p, or returns an [agent.ErrUnsupported] with the reason why the model cannot
// take it.
func wireImage(p agent.Image) (*image, *agent.ModelError) {
	if rest, ok := strings.CutPrefix(p.URL, "data:"); ok && len(p.Data) == 0 {
		mediaType, data, ok := strings.Cut(rest, ";base64,")
		if !ok {
			return nil, refuse(agent.ErrUnsupported, "a data: address of an image must be in base64")
		}
		return checkedImage(mediaType, data)
	}
	if len(p.Data) == 0 {
		if p.URL == "" {
			return nil, refuse(agent.ErrUnsupported, "an image has neither Data nor URL")
		}
		return &image{url: p.URL}, nil
	}
	mediaType := p.MediaType
	if mediaType == "" {
		mediaType = http.DetectContentType(p.Data)
	}
	return checkedImage(mediaType, base64.StdEncoding.EncodeToString(p.Data))
}

func checkedImage(mediaType, data string) (*image, *agent.ModelError) {
	if mediaType == "image/jpg" {
		mediaType = "image/jpeg"
	}
	switch mediaType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return &image{mediaType: mediaType, base64: data}, nil
	}
	return nil, refuse(agent.ErrUnsupported, "an image is of type %q; convert it to PNG, JPEG, GIF or WebP", mediaType)
}
