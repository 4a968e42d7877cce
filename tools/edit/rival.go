package edit

import "fmt"

// maxSeen limits how often one line of the file may vote for a rival; a line that occurs more often
// says nothing about the place.
const maxSeen = 256

// rival looks for a place that fits an old text better than the one at which it matches only when
// indentation is ignored: a window with exactly the old text's indentation that contains half of
// its lines, or the first and the last. Then the model most likely means that place, which somebody
// has changed since, and the match is a block that happens to be similar. rival returns the line
// (from 1), or 0 if there is none.
func (t *target) rival(old []string, at int) int {
	where, total := map[string][]int{}, 0
	for j, o := range old {
		if k := trimRight(o); k != "" {
			total++
			where[k] = append(where[k], j)
		}
	}
	if total <= minWitness {
		return 0
	}
	votes, seen := map[int]int{}, map[string]int{}
	for i := range t.lines {
		k := trimRight(t.lines[i].text)
		js := where[k]
		if len(js) == 0 || len(js) > maxVotes || seen[k] == maxSeen {
			continue
		}
		seen[k]++
		for _, j := range js {
			votes[i-j]++
		}
	}
	best := 0
	for s, n := range votes {
		last := s + len(old) - 1
		if s == at || s < 0 || last >= len(t.lines) || n <= votes[at] || best > 0 && s+1 > best {
			continue
		}
		ends := same(levelRight, old[0], t.lines[s].text) && same(levelRight, old[len(old)-1], t.lines[last].text)
		if ends || 2*n >= total {
			best = s + 1
		}
	}
	return best
}

// rivalry explains the refusal of a match that has a rival.
func rivalry(at, other int) *Error {
	e := refuse(Ambiguous, fmt.Sprintf("the old text matches at line %d only when indentation is ignored, while the text at line %d has its indentation and some of its lines",
		at, other), "Read both places again and copy the old text with its exact indentation")
	e.Lines = []int{at, other}
	return e
}
