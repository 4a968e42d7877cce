package digest

import (
	"strconv"
	"strings"
)

// tests adds the failing tests. Tests that failed with the same message are grouped, and the
// message is written once.
func (s *selection) tests(p *parser) {
	block := map[string]int{}
	p.findings = whole(p.findings)
	for _, f := range p.findings {
		if f.name == "" {
			continue
		}
		key := shape(f.head().text)
		if key == "" {
			key = "#" + strconv.Itoa(f.line)
		}
		b, seen := block[key]
		if !seen {
			b = s.blocks
			s.blocks++
			block[key] = b
		}
		s.add(KindTest, f.name, f.line, rankName, b, 0)
		s.body(f, b, seen)
	}
}

// whole drops findings with a short test name, which was printed while the test ran, if the report
// has the full name of the same test.
func whole(findings []*finding) []*finding {
	ends := map[string]bool{}
	for _, f := range findings {
		for _, sep := range []string{" › ", " > ", " "} {
			if i := strings.LastIndex(f.name, sep); i > 0 && len(f.traces) > 0 {
				ends[strings.TrimSuffix(f.name[i+len(sep):], ":")] = true
				if sep == " " { // mocha joins titles with spaces, so every suffix of words counts
					for i := 0; i < len(f.name) && len(f.name) < 300; i++ {
						if f.name[i] == ' ' {
							ends[strings.TrimSuffix(f.name[i+1:], ":")] = true
						}
					}
				}
			}
		}
	}
	kept := findings[:0:0]
	for _, f := range findings {
		if f.name == "" || !ends[f.name] {
			kept = append(kept, f)
		}
	}
	return kept
}

// body adds the details of a finding below its name. If several findings have the same message,
// only the first shows it.
func (s *selection) body(f *finding, b int, seen bool) {
	for i, t := range f.traces {
		rank, place := rankMessage, rankFrame
		if i > 0 || seen {
			rank, place = rankMore, rankMore
		}
		if i == 0 && seen {
			place = rankProject
		}
		s.add(KindError, t.message.text, t.message.line, rank, b, 2*i+1)
		s.frames(t, b, 2*i+2, place)
	}
	for _, at := range f.places {
		s.add(KindPlace, at.text, at.line, rankPlace, b, 1)
	}
	if !seen {
		for i, d := range f.details {
			rank := rankDetail
			if i >= 4 {
				rank = rankMore
			}
			s.add(KindExpected, d.text, d.line, rank, b, 2*mostTraces+2)
		}
	}
}
