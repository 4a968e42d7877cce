package symbols

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"slices"
	"strings"
)

// The binary format of an index; all numbers are little-endian or varints:
//
//	header     magic, version, number of documents, of names and of definitions, end of each section
//	names      sorted without regard to case, in groups of nameGroup, each name with the length of its postings
//	groups     for each group: start of its names, start of its postings
//	postings   for each name: documents and numbers of its definitions, documents and lines of its references
//	defs       for each document its definitions
//	documents  for each document: start of its definitions, number of the first; one more entry at the end
//	signatures packed, in blocks of some packSize bytes
//	packs      for each block: its first document, its start
const (
	indexMagic   = "LSYM"
	indexVersion = 1
	headerSize   = 4 + 4*4 + 4*numSections
	nameGroup    = 16
	packSize     = 24 << 10
)

const (
	secNames = iota
	secGroups
	secPostings
	secDefs
	secDocs
	secSignatures
	secPacks
	numSections
)

var kindNames = []string{"", Func, Method, Class, Struct, Interface, Trait, Enum, Type, Const, Var, Module, Impl, Macro, Property, Decl, Heading}

// kindNumber returns the index of a kind in kindNames, or 0 if it is not there.
func kindNumber(kind string) byte { return byte(max(slices.Index(kindNames, kind), 0)) }

const (
	flagExported  = 1 << 5
	flagContainer = 1 << 6 // the container is not the enclosing definition
)

// posting is one occurrence of a name.
type posting struct{ doc, at uint32 }

type nameEntry struct {
	name, fold string
	defs, refs []posting
}

// Encode writes the symbols of documents 0, 1, ... as one block of bytes for [Open]. Equal input
// results in equal bytes.
func Encode(files []Result) []byte {
	e := encoder{names: map[string]*nameEntry{}}
	e.gather(files)
	var sec [numSections][]byte
	e.writeNames(&sec)
	e.writeDocs(&sec, files)
	e.writeSignatures(&sec, files)
	return e.join(&sec, len(files))
}

type encoder struct {
	names  map[string]*nameEntry
	sorted []*nameEntry
	ids    map[string]uint32
	defs   int
}

// maxName is the length in bytes to which names are cut. Longer names are generated.
const maxName = 400

func cutName(name string) string {
	if len(name) > maxName {
		return strings.ToValidUTF8(name[:maxName], "")
	}
	return name
}

func (e *encoder) entry(name string) *nameEntry {
	name = cutName(name)
	n := e.names[name]
	if n == nil {
		n = &nameEntry{name: strings.Clone(name), fold: fold(name)}
		e.names[n.name] = n
	}
	return n
}

// fold returns a name in lower case.
func fold(s string) string { return strings.ToLower(s) }

func (e *encoder) gather(files []Result) {
	for doc, f := range files {
		for i, d := range f.Defs {
			n := e.entry(d.Name)
			n.defs = append(n.defs, posting{uint32(doc), uint32(i)})
		}
		for _, r := range f.Refs {
			n := e.entry(r.Name)
			at := uint32(max(r.Line, 0)) << 1
			if r.Kind == TypeUse {
				at |= 1
			}
			n.refs = append(n.refs, posting{uint32(doc), at})
		}
		e.defs += len(f.Defs)
	}
	for _, n := range e.names {
		e.sorted = append(e.sorted, n)
	}
	slices.SortFunc(e.sorted, func(a, b *nameEntry) int { return cmp.Or(cmp.Compare(a.fold, b.fold), cmp.Compare(a.name, b.name)) })
	e.ids = make(map[string]uint32, len(e.sorted))
	for i, n := range e.sorted {
		e.ids[n.name] = uint32(i)
	}
}

func u32(b []byte, v int) []byte                { return binary.LittleEndian.AppendUint32(b, uint32(v)) }
func uv[T ~int | ~uint32](b []byte, v T) []byte { return binary.AppendUvarint(b, uint64(v)) }

// writeNames writes names and their postings. A name shares its prefix with the previous name in
// its group.
func (e *encoder) writeNames(sec *[numSections][]byte) {
	names, groups, post := sec[secNames], sec[secGroups], sec[secPostings]
	before := ""
	for i, n := range e.sorted {
		if i%nameGroup == 0 {
			groups = u32(u32(groups, len(names)), len(post))
			before = ""
		}
		shared := 0
		for shared < len(before) && shared < len(n.name) && before[shared] == n.name[shared] {
			shared++
		}
		before = n.name
		begin := len(post)
		post = appendDefs(post, n.defs)
		mid := len(post)
		post = appendRefs(post, n.refs)
		names = uv(uv(names, shared), len(n.name)-shared)
		names = append(names, n.name[shared:]...)
		names = uv(uv(uv(names, len(n.defs)), mid-begin), len(post)-mid)
	}
	sec[secNames], sec[secGroups], sec[secPostings] = names, groups, post
}

func appendDefs(b []byte, list []posting) []byte {
	doc := uint32(0)
	for _, p := range list {
		b = uv(uv(b, p.doc-doc), p.at)
		doc = p.doc
	}
	return b
}

// appendRefs writes for each document the number of lines and the differences between them.
func appendRefs(b []byte, list []posting) []byte {
	doc := uint32(0)
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].doc == list[0].doc {
			n++
		}
		b = uv(uv(b, list[0].doc-doc), n)
		doc = list[0].doc
		line := uint32(0)
		for _, p := range list[:n] {
			b = uv(b, (p.at>>1-line)<<1|p.at&1)
			line = p.at >> 1
		}
		list = list[n:]
	}
	return b
}

func (e *encoder) writeDocs(sec *[numSections][]byte, files []Result) {
	defs, docs := sec[secDefs], sec[secDocs]
	first := 0
	for _, f := range files {
		docs = u32(u32(docs, len(defs)), first)
		first += len(f.Defs)
		start := 0
		var parents []int // last definition at each depth
		for i, d := range f.Defs {
			d.Depth = min(max(d.Depth, 0), len(parents))
			parents = append(parents[:d.Depth], i)
			flags := kindNumber(d.Kind)
			if d.Exported {
				flags |= flagExported
			}
			around := ""
			if d.Depth > 0 {
				around = f.Defs[parents[d.Depth-1]].FullName()
			}
			if d.Container != around {
				flags |= flagContainer
			}
			defs = uv(append(defs, flags), e.ids[cutName(d.Name)])
			defs = binary.AppendVarint(defs, int64(d.StartLine-start))
			defs = uv(defs, max(d.EndLine-d.StartLine, 0))
			doc := 0
			if d.DocLine > 0 {
				doc = max(d.StartLine-d.DocLine, 0) + 1
			}
			defs = appendSmall(defs, max(d.Line-d.StartLine, 0), doc, d.Depth)
			if flags&flagContainer != 0 {
				defs = append(uv(defs, len(d.Container)), d.Container...)
			}
			start = d.StartLine
		}
	}
	sec[secDefs], sec[secDocs] = defs, u32(u32(docs, len(defs)), first)
}

// appendSmall writes three numbers into one byte if they are as small as usual.
func appendSmall(b []byte, line, doc, depth int) []byte {
	if line < 4 && doc < 8 && depth < 7 {
		return append(b, byte(line|doc<<2|depth<<5))
	}
	return uv(uv(uv(append(b, 7<<5), line), doc), depth)
}

// nameMark replaces the definition's name in a packed signature; the name is stored elsewhere.
const nameMark = "\x01"

func shortSignature(d Def) string {
	s := strings.NewReplacer("\n", " ", nameMark, " ").Replace(d.Signature)
	return strings.Replace(s, cutName(d.Name), nameMark, 1)
}

// writeSignatures packs the signatures of whole documents, one per line.
func (e *encoder) writeSignatures(sec *[numSections][]byte, files []Result) {
	var plain bytes.Buffer
	first := 0
	out, packs := sec[secSignatures], sec[secPacks]
	for doc, f := range files {
		for _, d := range f.Defs {
			plain.WriteString(shortSignature(d))
			plain.WriteByte('\n')
		}
		if plain.Len() < packSize && doc+1 < len(files) {
			continue
		}
		packs = u32(u32(packs, first), len(out))
		out = pack(out, plain.Bytes())
		plain.Reset()
		first = doc + 1
	}
	sec[secSignatures], sec[secPacks] = out, packs
}

func pack(to, plain []byte) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.DefaultCompression)
	if err != nil {
		panic(err) // the level is one of the package's constants
	}
	_, _ = w.Write(plain) // a Buffer accepts every write
	_ = w.Close()
	return append(to, b.Bytes()...)
}

func (e *encoder) join(sec *[numSections][]byte, docs int) []byte {
	out := append([]byte(nil), indexMagic...)
	out = u32(u32(u32(u32(out, indexVersion), docs), len(e.sorted)), e.defs)
	end := headerSize
	for _, s := range sec {
		end += len(s)
		out = u32(out, end)
	}
	out = slices.Grow(out, end-len(out))
	for _, s := range sec {
		out = append(out, s...)
	}
	return out
}
