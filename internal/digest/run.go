package digest

import "strings"

// parse reads a whole output.
func parse(text string) *parser {
	p := newParser()
	n := 1
	for len(text) > 0 {
		c, size := cues.scan(text)
		raw := text[:size]
		end := byte(0)
		if size < len(text) {
			end = text[size]
			size++
			if end == '\r' { // "\r\n", and "\r\r\n" of a terminal in a terminal, end one line
				k := size
				for k < len(text) && text[k] == '\r' {
					k++
				}
				if k < len(text) && text[k] == '\n' {
					end, size = '\n', k+1
				}
			}
		}
		text = text[size:]
		if c != 0 || p.attentive() {
			p.line(n, raw, c)
		} else if len(raw) > 9 && raw[0] == 'T' && strings.HasPrefix(raw, "Testcase: ") {
			p.test = raw[10:]
		}
		if len(raw) > 0 && raw[0] > ' ' {
			p.file = raw
		}
		if end == '\n' {
			n++
		}
	}
	p.finishTitle()
	return p
}
