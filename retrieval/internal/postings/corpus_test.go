package postings

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Fields of the benchmark's corpus.
const (
	body Field = iota
	comment
	definition
	path
)

// chunkLines is the length of the benchmark's chunks in lines.
const chunkLines = 30

// corpus is real source code, converted to the calls that a builder would get, so that replaying it
// measures only the builder.
type corpus struct {
	text  []byte // terms, lower-cased, concatenated
	ops   []op
	bytes int // of the source
	lines int
	files int
}

// op is a call of a builder.
type op struct {
	at    uint32 // position of the term or title in text; first line of a chunk
	size  uint8
	kind  opKind
	field Field
}

type opKind uint8

const (
	opAdd opKind = iota
	opStop
	opChunk // followed by opTitle
	opTitle
	opFile
)

// replay makes the calls.
func (c *corpus) replay(b indexer) {
	line := uint32(0)
	for _, o := range c.ops {
		switch o.kind {
		case opAdd:
			b.Add(c.text[o.at:][:o.size], o.field)
		case opStop:
			b.Count(o.field, 1)
		case opChunk:
			line = o.at
		case opTitle:
			b.StartChunk(line, line+chunkLines-1, c.text[o.at:][:o.size])
		case opFile:
			b.StartFile()
		}
	}
}

// trees returns directories of real code: Go's standard library and those listed in LEXICAL_TREES.
func trees() []string {
	list := []string{filepath.Join(runtime.GOROOT(), "src")}
	return append(list, filepath.SplitList(os.Getenv("LEXICAL_TREES"))...)
}

// readCorpus tokenises the source files below a directory, up to about the given number of lines.
func readCorpus(tb testing.TB, dir string, lines int) *corpus {
	tb.Helper()
	c := &corpus{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || c.lines >= lines {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || p == filepath.Join(dir, "cmd")) {
			return filepath.SkipDir
		}
		switch filepath.Ext(p) {
		case ".go", ".py", ".pyx", ".c", ".h", ".js", ".ts", ".rs", ".java":
		default:
			return nil
		}
		src, err := os.ReadFile(p)
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, p)
			c.file(rel, src)
		}
		return err
	})
	if err != nil {
		tb.Skip(err)
	}
	return c
}

func (c *corpus) put(s []byte) (at uint32, size uint8) {
	s = s[:min(len(s), 255)]
	at = uint32(len(c.text))
	c.text = append(c.text, bytes.ToLower(s)...)
	return at, uint8(len(c.text) - int(at))
}

func (c *corpus) file(name string, src []byte) {
	c.files++
	c.bytes += len(src)
	c.ops = append(c.ops, op{kind: opFile})
	title := []byte("")
	line := 0
	for text := range bytes.Lines(src) {
		if line%chunkLines == 0 {
			at, size := c.put(title)
			c.ops = append(c.ops, op{kind: opChunk, at: uint32(line + 1)}, op{kind: opTitle, at: at, size: size})
			for _, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '.' }) {
				c.identifier([]byte(part), path)
			}
		}
		line++
		if name := c.line(text); name != nil {
			title = name
		}
	}
	c.lines += line
}

// line adds the identifiers of a line and returns the name that it defines, if any.
func (c *corpus) line(text []byte) (name []byte) {
	field := body
	for i := 0; i < len(text); {
		if text[i] == '#' || bytes.HasPrefix(text[i:], []byte("//")) {
			field = comment
		}
		if !word(text[i]) {
			i++
			continue
		}
		j := i
		for j < len(text) && word(text[j]) {
			j++
		}
		id := text[i:j]
		i = j
		switch {
		case stop[string(id)]:
			c.ops = append(c.ops, op{kind: opStop, field: field})
			if d := string(id); field == body && (d == "func" || d == "type" || d == "def" || d == "class") {
				field = definition
			}
			continue
		case len(id) < 2 || id[0] >= '0' && id[0] <= '9':
			continue
		case field == definition:
			name = id
			c.identifier(id, definition)
			field = body
			continue
		}
		c.identifier(id, field)
	}
	return name
}

func word(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}

// identifier adds an identifier, and its parts if it has several.
func (c *corpus) identifier(id []byte, f Field) {
	at, size := c.put(id)
	c.ops = append(c.ops, op{at: at, size: size, field: f})
	start := 0
	for i := 1; i <= len(id); i++ {
		cut := i == len(id) || id[i] == '_' || id[i-1] == '_' || lower(id[i-1]) && upper(id[i]) ||
			i+1 < len(id) && upper(id[i-1]) && upper(id[i]) && lower(id[i+1])
		if !cut {
			continue
		}
		if part := bytes.Trim(id[start:i], "_"); len(part) > 1 && len(part) < len(id) {
			at, size := c.put(part)
			c.ops = append(c.ops, op{at: at, size: size, field: f})
		}
		start = i
	}
}

func lower(b byte) bool { return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' }
func upper(b byte) bool { return b >= 'A' && b <= 'Z' }

// stop are the most common keywords and words of comments.
var stop = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`func type def class return if else for range in import from package var const self
		nil none None True False true false and or not is as with try except break continue switch case the of to a an it
		that this be by on at we`) {
		m[w] = true
	}
	return m
}()
