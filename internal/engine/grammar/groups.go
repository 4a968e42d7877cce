package grammar

import (
	"maps"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Tokens are sorted into groups by the kinds of characters they consist of. A mask of a pattern
// then checks most groups only once. If the pattern's automaton cannot die (or end) within the
// longest token of a group, whatever its characters, the whole group is allowed. If it dies on
// every character of the first kind, no token of the group is allowed. Only the groups in between
// are walked.
type tokenGroup struct {
	first   int8   // kind of the first character; -1 for the group of irregular tokens
	kinds   uint32 // kinds of all other characters
	longest int    // in code points
	mask    []uint64
	sorted  []int32                  // the tokens, sorted by length in code points
	upTo    [groupLongest + 1]uint32 // upTo[n]: number of tokens of at most n code points
	root    int32                    // root of the group's trie
	json    bool                     // whether the tokens can occur in a JSON string without escapes
}

const (
	kindLower = iota
	kindUpper
	kindDigit
	kindBlank
	kindDash
	kindUnder
	kindDot
	kindSlash
	kindComma
	kindQuote
	kindBackslash
	kindControl
	kindPunct // all other ASCII characters
	kindSpace // spaces beyond ASCII
	kindOther // everything else
	kindCount
)

func kindOf(r rune) int {
	switch {
	case r >= 'a' && r <= 'z':
		return kindLower
	case r >= 'A' && r <= 'Z':
		return kindUpper
	case r >= '0' && r <= '9':
		return kindDigit
	case r < 0x20:
		return kindControl
	case r < 0x80:
		switch r {
		case ' ':
			return kindBlank
		case '-':
			return kindDash
		case '_':
			return kindUnder
		case '.':
			return kindDot
		case '/':
			return kindSlash
		case ',':
			return kindComma
		case '"':
			return kindQuote
		case '\\':
			return kindBackslash
		}
		return kindPunct
	case unicode.IsSpace(r) || r == 0xfeff || r >= 0x2028 && r <= 0x2029:
		return kindSpace
	}
	return kindOther
}

const (
	groupMin     = 48 // smaller groups are merged into the irregular one
	groupLongest = 40 // longer tokens are irregular
	groupFew     = 800
)

// sortGroups sorts the tokens into groups. The irregular group holds the tokens with partial runes,
// quotes or backslashes, long tokens, and tokens whose kinds are too rare for a group.
func (v *Vocab) sortGroups(ids []int32) {
	type key struct {
		first int8
		kinds uint32
	}
	byKey := map[key][]int32{}
	irregular := key{first: -1}
	for _, id := range ids {
		k := irregular
		if first, kinds, ok := groupOf(v.pieces[id]); ok {
			k = key{first, kinds}
		}
		byKey[k] = append(byKey[k], id)
	}
	for k, g := range byKey {
		if len(g) < groupMin && k != irregular {
			byKey[irregular] = append(byKey[irregular], g...)
			delete(byKey, k)
		}
	}
	keys := slices.SortedFunc(maps.Keys(byKey), func(a, b key) int {
		if a.first != b.first {
			return int(a.first) - int(b.first)
		}
		return int(a.kinds) - int(b.kinds)
	})
	for _, k := range keys {
		g := tokenGroup{first: k.first, kinds: k.kinds, json: k.kinds&(1<<kindControl) == 0 && k.first != kindControl}
		members := byKey[k]
		slices.SortFunc(members, v.byText)
		g.root = int32(len(v.nodes))
		v.nodes = append(v.nodes, trieNode{token: -1})
		v.grow(g.root, 0, members)
		g.sort(v, members)
		v.groups = append(v.groups, g)
	}
}

// groupOf returns the kind of a token's first character and the kinds of all characters; the result
// ok is false for an irregular token.
func groupOf(piece []byte) (first int8, kinds uint32, ok bool) {
	if !utf8.Valid(piece) || utf8.RuneCount(piece) > groupLongest {
		return 0, 0, false
	}
	first = -1
	for _, r := range string(piece) {
		k := kindOf(r)
		if k == kindQuote || k == kindBackslash {
			return 0, 0, false
		}
		if first < 0 {
			first = int8(k)
			continue
		}
		kinds |= 1 << k
	}
	return first, kinds, true
}

// sort fills in the lists of a group.
func (g *tokenGroup) sort(v *Vocab, members []int32) {
	if g.first < 0 {
		return
	}
	g.sorted = slices.Clone(members)
	size := func(id int32) int { return utf8.RuneCount(v.pieces[id]) }
	slices.SortStableFunc(g.sorted, func(a, b int32) int { return size(a) - size(b) })
	for _, id := range members {
		g.upTo[size(id)]++
		g.longest = max(g.longest, size(id))
	}
	for n := 1; n <= groupLongest; n++ {
		g.upTo[n] += g.upTo[n-1]
	}
	if len(members) >= groupFew {
		g.mask = make([]uint64, v.words)
		for _, id := range members {
			g.mask[id>>6] |= 1 << (id & 63)
		}
	}
}

// allow sets the bits of all tokens of a group.
func (g *tokenGroup) allow(mask []uint64) {
	for i, w := range g.mask {
		mask[i] |= w
	}
	if g.mask == nil {
		g.allowUpTo(groupLongest, mask)
	}
}

// allowUpTo sets the bits of the tokens of at most n code points.
func (g *tokenGroup) allowUpTo(n int, mask []uint64) {
	for _, t := range g.between(-1, n) {
		mask[t>>6] |= 1 << (t & 63)
	}
}

// between returns the tokens of more than lo and at most hi code points.
func (g *tokenGroup) between(lo, hi int) []int32 {
	at := func(n int) uint32 {
		if n < 0 {
			return 0
		}
		return g.upTo[min(n, groupLongest)]
	}
	return g.sorted[at(lo):max(at(lo), at(hi))]
}

// kindClasses returns, for each kind of character, the classes of the alphabet that contain
// characters of the kind.
func (a *alphabet) kindClasses() [kindCount][]uint16 {
	var out [kindCount][]uint16
	add := func(kind int, c uint16) {
		if !slices.Contains(out[kind], c) {
			out[kind] = append(out[kind], c)
		}
	}
	for r := range rune(128) {
		add(kindOf(r), a.ascii[r])
	}
	for i, lo := range a.starts {
		hi := runeMax
		if i+1 < len(a.starts) {
			hi = a.starts[i+1] - 1
		}
		if hi < 128 {
			continue
		}
		lo = max(lo, 128)
		for _, s := range append(spaces, span{0x85, 0x85}) {
			if s.hi >= 128 && s.lo <= hi && s.hi >= lo {
				add(kindSpace, a.class[i])
			}
		}
		other := hi-lo > 64
		for r := lo; r <= hi && !other; r++ {
			other = kindOf(r) == kindOther
		}
		if other {
			add(kindOther, a.class[i])
		}
	}
	return out
}

type reachKey struct {
	q     int32
	first int8
	kinds uint32
	raw   bool
}

// survives returns the number of characters of a token in group g that the automaton is certain to
// read, starting in state q, without dying or, if raw is true, without reaching a state where the
// text may end. It returns at most groupLongest.
func (d *dfa) survives(l *lexer, q int32, g *tokenGroup, raw bool) int {
	key := reachKey{q, g.first, g.kinds, raw}
	if n, ok := l.sure[key]; ok {
		return int(n)
	}
	n := d.surviving(q, g, raw)
	if l.sure == nil {
		l.sure = map[reachKey]int8{}
	}
	l.sure[key] = int8(n)
	return n
}

func (d *dfa) surviving(q int32, g *tokenGroup, raw bool) int {
	var rest []uint16
	for k := range kindCount {
		if g.kinds>>k&1 == 1 {
			for _, c := range d.kinds()[k] {
				if !slices.Contains(rest, c) {
					rest = append(rest, c)
				}
			}
		}
	}
	classes := d.kinds()[g.first]
	seen := map[int32]bool{}
	frontier := []int32{q}
	for n := range groupLongest {
		var next []int32
		for _, q := range frontier {
			for _, c := range classes {
				t := d.next[int(q)*d.k+int(c)]
				if t < 0 || raw && d.labels[t] >= 0 {
					return n
				}
				if !seen[t] {
					seen[t] = true
					next = append(next, t)
				}
			}
		}
		if len(next) == 0 {
			break
		}
		frontier, classes = next, rest
	}
	return groupLongest
}

// dies reports whether every character of a kind is refused in state q.
func (d *dfa) dies(q int32, kind int8) bool {
	for _, c := range d.kinds()[kind] {
		if d.next[int(q)*d.k+int(c)] >= 0 {
			return false
		}
	}
	return true
}

// maxWith limits the length of a list of tokens that contain a certain byte.
const maxWith = 4000

// listBytes makes, for each byte that few tokens contain, the list of those tokens; other bytes
// have no list.
func (v *Vocab) listBytes(ids []int32) {
	var many [256]bool
	for b := range v.with {
		v.with[b] = []int32{}
	}
	for _, id := range ids {
		var seen byteSet
		for _, b := range v.pieces[id] {
			if seen.has(b) || many[b] {
				continue
			}
			seen.add(b)
			if v.with[b] = append(v.with[b], id); len(v.with[b]) > maxWith {
				v.with[b], many[b] = nil, true
			}
		}
	}
}

func (d *dfa) kinds() *[kindCount][]uint16 {
	d.kindOnce.Do(func() { d.kindClass = d.alpha.kindClasses() })
	return &d.kindClass
}
