package symbols

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
)

// An Index answers queries about the symbols of many documents from the bytes of [Encode]. An Index
// keeps these bytes, which may be a mapped file, and never changes them. It may be used by several
// goroutines at once. Damaged bytes cause wrong or empty answers, never a panic.
type Index struct {
	sec         [numSections][]byte
	docs, names int
	defs        int

	mu     sync.Mutex
	opened int // number of the pack that is unpacked
	lines  []string
}

// ErrIndex means that the bytes are not an index of this version.
var ErrIndex = errors.New("not an index of this version")

// Open reads the header of an index written by [Encode].
func Open(data []byte) (*Index, error) {
	if len(data) < headerSize || string(data[:4]) != indexMagic || binary.LittleEndian.Uint32(data[4:]) != indexVersion {
		return nil, fmt.Errorf("symbols: open index: %w", ErrIndex)
	}
	at := func(i int) int { return int(binary.LittleEndian.Uint32(data[4+4*i:])) }
	x := &Index{docs: at(1), names: at(2), defs: at(3), opened: -1}
	begin := headerSize
	for i := range numSections {
		end := at(4 + i)
		if end < begin || end > len(data) {
			return nil, fmt.Errorf("symbols: open index: section %d ends at %d of %d bytes: %w", i, end, len(data), ErrIndex)
		}
		x.sec[i] = data[begin:end]
		begin = end
	}
	if len(x.sec[secDocs]) != 8*(x.docs+1) || len(x.sec[secGroups]) != 8*((x.names+nameGroup-1)/nameGroup) ||
		x.names > len(x.sec[secNames]) || x.defs > len(x.sec[secDefs]) || len(x.sec[secPacks])%8 != 0 {
		return nil, fmt.Errorf("symbols: open index: numbers disagree: %w", ErrIndex)
	}
	return x, nil
}

// Docs returns the number of documents.
func (x *Index) Docs() int { return x.docs }

// Len returns the number of definitions in all documents.
func (x *Index) Len() int { return x.defs }

// A Site identifies a definition by its document and its position in [Index.Defs] of that document.
type Site struct{ Doc, Def int }

// A Use is a line that refers to a name.
type Use struct {
	Doc, Line int
	Kind      string
}

// A Name is a name that is defined or referred to, with its number of definitions. In the results
// of [Index.Fuzzy], Score rates how well it matches, up to 1.
type Name struct {
	Name  string
	Defs  int
	Score float64

	begin, mid, end int // positions of its postings
}

// reading is a cursor over untrusted bytes. Beyond their end it reads zeros, and its field ok is
// false.
type reading struct {
	b   []byte
	bad bool
}

func (r *reading) uint() int {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > 1<<31 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

func (r *reading) int() int {
	v, n := binary.Varint(r.b)
	if n <= 0 || v > 1<<31 || v < -1<<31 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

// small reads what appendSmall wrote.
func (r *reading) small() (line, doc, depth int) {
	b := r.bytes(1)
	if len(b) == 0 {
		return 0, 0, 0
	}
	if b[0]>>5 == 7 {
		return r.uint(), r.uint(), r.uint()
	}
	return int(b[0] & 3), int(b[0] >> 2 & 7), int(b[0] >> 5)
}

func (r *reading) bytes(n int) []byte {
	if n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func u32At(b []byte, i int) int {
	if i < 0 || 4*i+4 > len(b) {
		return 0
	}
	return int(binary.LittleEndian.Uint32(b[4*i:]))
}

func from(b []byte, i int) []byte { return b[min(max(i, 0), len(b)):] }

// group calls f for the names of a group until it returns false. The byte slice of a name is reused
// for the next one.
func (x *Index) group(g int, f func(i int, name []byte, n Name) bool) bool {
	r := reading{b: from(x.sec[secNames], u32At(x.sec[secGroups], 2*g))}
	post := u32At(x.sec[secGroups], 2*g+1)
	var buf [256]byte
	name := buf[:0]
	for i := g * nameGroup; i < min((g+1)*nameGroup, x.names); i++ {
		shared := r.uint()
		suffix := r.bytes(r.uint())
		if shared > len(name) || shared+len(suffix) > maxName {
			return false
		}
		name = append(name[:shared], suffix...)
		n := Name{Defs: r.uint(), begin: post}
		n.mid = n.begin + r.uint()
		n.end = n.mid + r.uint()
		post = n.end
		if r.bad || n.end > len(x.sec[secPostings]) || !f(i, name, n) {
			return false
		}
	}
	return true
}

func (x *Index) groups() int { return (x.names + nameGroup - 1) / nameGroup }

// groupOf returns the last group whose first name does not sort after the given folded name.
func (x *Index) groupOf(folded string) int {
	g := sort.Search(x.groups(), func(g int) bool {
		after := false
		x.group(g, func(_ int, name []byte, _ Name) bool {
			after = fold(string(name)) >= folded
			return false
		})
		return after
	})
	return max(g-1, 0)
}

// Folded returns the names that equal name without regard to case, including those that are defined
// nowhere.
func (x *Index) Folded(name string) []Name {
	want := fold(name)
	var out []Name
	for g := x.groupOf(want); g < x.groups(); g++ {
		if !x.group(g, func(_ int, b []byte, n Name) bool {
			got := fold(string(b))
			if got == want {
				n.Name = string(b)
				out = append(out, n)
			}
			return got <= want
		}) {
			break
		}
	}
	return out
}

func (x *Index) find(name string) (Name, bool) {
	for _, n := range x.Folded(name) {
		if n.Name == name {
			return n, true
		}
	}
	return Name{}, false
}

// Lookup returns the definitions of exactly this name, by document.
func (x *Index) Lookup(name string) []Site {
	n, ok := x.find(name)
	if !ok {
		return nil
	}
	return x.Sites(n)
}

// LookupFold is [Index.Lookup] without regard to case.
func (x *Index) LookupFold(name string) []Site {
	var out []Site
	for _, n := range x.Folded(name) {
		out = append(out, x.Sites(n)...)
	}
	return out
}

// Sites returns the definitions of a name that the index returned.
func (x *Index) Sites(n Name) []Site {
	if n.begin > n.mid || n.mid > len(x.sec[secPostings]) {
		return nil
	}
	r := reading{b: x.sec[secPostings][n.begin:n.mid]}
	var out []Site
	doc := 0
	for len(r.b) > 0 {
		doc += r.uint()
		def := r.uint()
		if r.bad || doc >= x.docs {
			break
		}
		out = append(out, Site{doc, def})
	}
	return out
}

// Refs returns the lines that refer to a name, by document and line. The index does not know which
// definition a reference means.
func (x *Index) Refs(name string) []Use {
	n, ok := x.find(name)
	if !ok {
		return nil
	}
	return x.Uses(n)
}

// Names returns the number of names, defined or referred to.
func (x *Index) Names() int { return x.names }

// EachName calls fn for every name, sorted without regard to case, until fn returns false. The
// bytes are valid until fn returns, and the field Name of n is not set.
func (x *Index) EachName(fn func(name []byte, n Name) bool) {
	for g := range x.groups() {
		on := true
		if !x.group(g, func(_ int, b []byte, n Name) bool {
			on = fn(b, n)
			return on
		}) && !on {
			return
		}
	}
}

// Uses returns the lines that refer to a name that the index returned, by document and line.
func (x *Index) Uses(n Name) []Use {
	if n.mid > n.end || n.end > len(x.sec[secPostings]) {
		return nil
	}
	r := reading{b: x.sec[secPostings][n.mid:n.end]}
	var out []Use
	doc := 0
	for len(r.b) > 0 && !r.bad {
		doc += r.uint()
		line := 0
		for count := r.uint(); count > 0; count-- {
			v := r.uint()
			if r.bad || doc >= x.docs {
				return out
			}
			line += v >> 1
			out = append(out, Use{doc, line, [...]string{Call, TypeUse}[v&1]})
		}
	}
	return out
}

// Defs returns the definitions of a document in order.
func (x *Index) Defs(doc int) []Def {
	out := x.bare(doc)
	if len(out) == 0 {
		return nil
	}
	signatures := x.signatures(doc)
	for i := range out {
		if i < len(signatures) {
			out[i].Signature = strings.Replace(signatures[i], nameMark, out[i].Name, 1)
		}
	}
	return out
}

// Def returns one definition.
func (x *Index) Def(s Site) (Def, bool) {
	defs := x.Defs(s.Doc)
	if s.Def < 0 || s.Def >= len(defs) {
		return Def{}, false
	}
	return defs[s.Def], true
}

// bare returns the definitions of a document without signatures.
func (x *Index) bare(doc int) []Def {
	if doc < 0 || doc >= x.docs {
		return nil
	}
	r := reading{b: from(x.sec[secDefs], u32At(x.sec[secDocs], 2*doc))}
	count := u32At(x.sec[secDocs], 2*doc+3) - u32At(x.sec[secDocs], 2*doc+1)
	if count < 0 || count > len(r.b) {
		return nil
	}
	out := make([]Def, 0, count)
	start := 0
	var around []string // full names by depth
	for range count {
		flags := r.bytes(1)
		id := r.uint()
		start = max(start+r.int(), 0)
		d := Def{StartLine: start}
		d.EndLine = start + r.uint()
		line, doc, depth := r.small()
		d.Line, d.Depth = start+line, depth
		if doc > 0 {
			d.DocLine = max(start-doc+1, 0)
		}
		if r.bad || d.Depth > len(around) {
			return out
		}
		if d.Depth > 0 {
			d.Container = around[d.Depth-1]
		}
		if flags[0]&flagContainer != 0 {
			d.Container = string(r.bytes(r.uint()))
		}
		d.Exported = flags[0]&flagExported != 0
		if k := int(flags[0] & (flagExported - 1)); k < len(kindNames) {
			d.Kind = kindNames[k]
		}
		d.Name = x.nameOf(id)
		full := d.FullName()
		if len(full) > 4*maxName {
			return out
		}
		around = append(around[:d.Depth], full)
		out = append(out, d)
	}
	return out
}

func (x *Index) nameOf(id int) string {
	var out string
	if id < x.names {
		x.group(id/nameGroup, func(i int, name []byte, _ Name) bool {
			if i == id {
				out = string(name)
			}
			return i < id
		})
	}
	return out
}

// signatures returns the signatures of a document. The last pack read is kept, since callers tend
// to ask for neighbouring documents.
func (x *Index) signatures(doc int) []string {
	packs := x.sec[secPacks]
	n := len(packs) / 8
	p := sort.Search(n, func(i int) bool { return u32At(packs, 2*i) > doc }) - 1
	if p < 0 {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.opened != p {
		x.opened, x.lines = p, unpack(from(x.sec[secSignatures], u32At(packs, 2*p+1)))
	}
	first := u32At(x.sec[secDocs], 2*doc+1) - u32At(x.sec[secDocs], 2*u32At(packs, 2*p)+1)
	if first < 0 || first > len(x.lines) {
		return nil
	}
	return x.lines[first:]
}

// maxPack limits the unpacked size of a pack in bytes. Signatures beyond this size are lost, but no
// real document has that many.
const maxPack = 4 << 20

func unpack(data []byte) []string {
	r := flate.NewReader(bytes.NewReader(data))
	text, _ := io.ReadAll(io.LimitReader(r, maxPack)) // damaged data yields less text
	return strings.Split(string(text), "\n")
}

// Prefix returns up to limit defined names that begin with s without regard to case: the shortest
// first, then alphabetically.
func (x *Index) Prefix(s string, limit int) []Name {
	want := fold(s)
	var out []Name
	for g := x.groupOf(want); g < x.groups(); g++ {
		if !x.group(g, func(_ int, b []byte, n Name) bool {
			got := fold(string(b))
			if n.Defs > 0 && strings.HasPrefix(got, want) {
				n.Name, n.Score = string(b), float64(len(want))/float64(max(len(b), 1))
				out = append(out, n)
			}
			return got <= want || strings.HasPrefix(got, want)
		}) {
			break
		}
	}
	return best(out, limit, func(a, b Name) int { return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name)) })
}
