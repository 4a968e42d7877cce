package wire

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// IDRule says which call ids a server takes.
type IDRule struct {
	Max   int    // bytes; 0 means no limit
	Exact int    // if not 0, ids have this many letters and digits and nothing else
	Chars string // characters that are allowed besides letters, digits, '_' and '-'
	// Keep lets ids with this text in them through unchanged: the server hides data in them.
	Keep string
}

// Pairs matches the calls of a history with their results and gives each call an id that the server
// takes and that no other call of the request has. The ids depend only on the calls before, so that
// a longer history encodes to the same bytes.
type Pairs struct {
	Rule IDRule
	used map[string]int // ids that were given, and the next number to make one different
	open []pair         // calls of the last assistant message
}

type pair struct {
	id, wire string
	answered bool
}

// Call returns the id to send for a call.
func (p *Pairs) Call(id string) string {
	wire := p.unique(p.Rule.clean(id))
	p.open = append(p.open, pair{id: id, wire: wire})
	return wire
}

// Answer returns the id to send with the result of the first open call with that id. It returns
// false if there is none.
func (p *Pairs) Answer(id string) (wire string, ok bool) {
	for i := range p.open {
		if o := &p.open[i]; o.id == id && !o.answered {
			o.answered = true
			return o.wire, true
		}
	}
	return "", false
}

// Settle forgets the open calls and returns the ids of those without a result.
func (p *Pairs) Settle() (missing []string) {
	for i := range p.open {
		if o := &p.open[i]; !o.answered {
			missing = append(missing, o.wire)
		}
	}
	p.open = p.open[:0]
	return missing
}

// unique returns id, or a variant of it that no earlier call has.
func (p *Pairs) unique(id string) string {
	if p.used == nil {
		p.used = make(map[string]int)
	}
	n, taken := p.used[id]
	if !taken {
		p.used[id] = 2
		return id
	}
	for ; ; n++ {
		other := p.Rule.numbered(id, n)
		if _, taken := p.used[other]; !taken {
			p.used[id], p.used[other] = n+1, 2
			return other
		}
	}
}

// clean returns id in the form that the rule asks for.
func (r *IDRule) clean(id string) string {
	if r.Keep != "" && strings.Contains(id, r.Keep) {
		return id
	}
	if r.Exact > 0 {
		if len(id) == r.Exact && strings.IndexFunc(id, func(c rune) bool { return !alphanumeric(c) }) < 0 {
			return id
		}
		return digest(id, r.Exact)
	}
	clean := Name(id, "call", r.Chars)
	if r.Max > 0 && len(clean) > r.Max {
		clean = clean[:r.Max-9] + "_" + digest(id, 8)
	}
	return clean
}

// numbered returns the n-th variant of a clean id.
func (r *IDRule) numbered(id string, n int) string {
	if r.Exact > 0 {
		return digest(id+"_"+strconv.Itoa(n), r.Exact)
	}
	end := "_" + strconv.Itoa(n)
	if r.Max > 0 && len(id)+len(end) > r.Max {
		id = id[:r.Max-len(end)]
	}
	return id + end
}

// digest returns n letters and digits made from s.
func digest(s string, n int) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	out := strings.Repeat("0", n) + strconv.FormatUint(h.Sum64(), 36)
	return out[len(out)-n:]
}

func alphanumeric(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// Name keeps the letters, digits, '_' and '-' of s and the characters in more; each other one
// becomes '_'. It returns empty for an empty s.
func Name(s, empty, more string) string {
	if s == "" {
		return empty
	}
	for _, c := range s { // most names need no change
		if !inName(c, more) {
			return strings.Map(func(c rune) rune {
				if inName(c, more) {
					return c
				}
				return '_'
			}, s)
		}
	}
	return s
}

func inName(c rune, more string) bool {
	return alphanumeric(c) || c == '_' || c == '-' || (c > 0 && strings.ContainsRune(more, c))
}
