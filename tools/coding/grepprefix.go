package coding

import (
	"bytes"
	"regexp"
	"strings"
)

// A grepPrefix is a text with which every match of a pattern begins. Most files do not hold it, and
// are done when its rarest byte is looked for.
type grepPrefix struct {
	text []byte // empty if there is none
	rare int    // position in text
}

// commonBytes lists bytes of source code, the most common first. Others are rarer.
const commonBytes = " \tetrnaiosdlcpumfh()g_.yb,x=v\"wk;:/-ETSRAIOqjz"

func prefixOf(re *regexp.Regexp) grepPrefix {
	text, _ := re.LiteralPrefix()
	p := grepPrefix{text: []byte(text)}
	best := -1
	for i, b := range p.text {
		rank := strings.IndexByte(commonBytes, b)
		if rank < 0 {
			rank = len(commonBytes)
		}
		if rank > best {
			best, p.rare = rank, i
		}
	}
	return p
}

// in reports whether a buffer holds the text.
func (p *grepPrefix) in(buf []byte) bool {
	if len(p.text) == 0 {
		return true
	}
	failed := 0
	for at := 0; at < len(buf); {
		i := bytes.IndexByte(buf[at:], p.text[p.rare])
		if i < 0 {
			return false
		}
		start := at + i - p.rare
		if start >= 0 && bytes.HasPrefix(buf[start:], p.text) {
			return true
		}
		at += i + 1
		if failed++; failed > 8+at/64 { // the byte is not rare here
			return bytes.Contains(buf[max(0, at-p.rare):], p.text)
		}
	}
	return false
}
