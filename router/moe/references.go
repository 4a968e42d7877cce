package moe

import (
	"encoding/json"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// Limits of the texts that are offered for edit speculation.
const (
	maxReferences    = 8
	minReferenceSize = 256     // bytes; shorter texts are already found by prompt lookup
	maxReferenceSize = 1 << 20 // bytes of one text
)

// references returns the texts that the answer is likely to repeat with changes, newest first:
// texts that tools showed, without line numbers, and texts that were written before. In most
// formats, a call's arguments are JSON; if escaped is true, each text is therefore offered in the
// form that it has inside a JSON string.
func references(req *agent.Request, escaped bool) []string {
	var texts []string
	seen := map[string]bool{}
	add := func(text string) {
		text = withoutLineNumbers(text)
		if len(text) < minReferenceSize || len(text) > maxReferenceSize || len(texts) == maxReferences || seen[text] {
			return
		}
		seen[text] = true
		if escaped {
			quoted := jsontree.AppendQuoted(nil, text)
			text = string(quoted[1 : len(quoted)-1])
		}
		texts = append(texts, text)
	}
	for i := len(req.Messages) - 1; i >= 0 && len(texts) < maxReferences; i-- {
		for _, p := range req.Messages[i].Parts {
			switch p := p.(type) {
			case agent.ToolResult:
				add(p.Text())
			case agent.ToolCall:
				for _, s := range longStrings(p.Args) {
					add(s)
				}
			case agent.Text:
				if req.Messages[i].Role == agent.RoleUser {
					add(p.Text)
				}
			}
		}
	}
	return texts
}

// longStrings returns the longer texts among the arguments of a call, such as the content that was
// written to a file.
func longStrings(args json.RawMessage) []string {
	if len(args) < minReferenceSize {
		return nil
	}
	v, err := jsontree.Parse(args)
	if err != nil {
		return nil
	}
	var texts []string
	for _, m := range v.Members {
		if m.Value.Kind == jsontree.String && len(m.Value.Raw()) >= minReferenceSize {
			texts = append(texts, m.Value.Text())
		}
	}
	return texts
}

// withoutLineNumbers removes the numbers before the lines of a file that a tool showed, if nearly
// all lines have one. Lines without a number, such as a tool's note, are then left out.
func withoutLineNumbers(text string) string {
	lines := strings.SplitAfter(text, "\n")
	var b strings.Builder
	numbered := 0
	for _, line := range lines {
		if rest, ok := cutLineNumber(line); ok {
			numbered++
			b.WriteString(rest)
		}
	}
	if numbered < 3 || numbered*10 < len(lines)*8 {
		return text
	}
	return b.String()
}

// cutLineNumber removes a number and its separator, as in " 12\tfoo", "12|foo", "12: foo" or
// "12→foo".
func cutLineNumber(line string) (rest string, ok bool) {
	s := strings.TrimLeft(line, " ")
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n == 0 || n > 7 {
		return line, false
	}
	for _, sep := range []string{"\t", "→", "|", ": "} {
		if rest, ok := strings.CutPrefix(s[n:], sep); ok {
			return rest, true
		}
	}
	return line, false
}
