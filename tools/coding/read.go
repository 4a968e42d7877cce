package coding

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

type readIn struct {
	Path   string `json:"path" jsonschema_description:"file, relative to the workspace"`
	Offset int    `json:"offset,omitempty" jsonschema:"minimum=0" jsonschema_description:"first line to show, from 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"minimum=0" jsonschema_description:"number of lines to show"`
	Raw    bool   `json:"raw,omitempty" jsonschema_description:"show a notebook as the JSON it is stored as"`
}

func (w *Workspace) readTool() (agent.Tool, error) {
	return newTool("read", reading(w, opened.read), toolParts[readIn]{
		any:      agent.ReadOnly("."),
		effects:  func(in readIn) agent.Effects { return effectsIn(w, in.Path, opened.readEffects) },
		describe: titled(func(in readIn) string { return "read " + show.Path(in.Path) + in.rangeName() }),
	})
}

func (in readIn) rangeName() string {
	switch {
	case in.Limit > 0:
		first := max(in.Offset, 1)
		return fmt.Sprintf(" lines %d-%d", first, first+in.Limit-1)
	case in.Offset > 1:
		return fmt.Sprintf(" from line %d", in.Offset)
	}
	return ""
}

func (w opened) read(ctx context.Context, in readIn) ([]agent.Part, error) {
	t, err := w.resolve(in.Path)
	if err != nil {
		return nil, err
	}
	if t.info != nil && t.info.IsDir() {
		return nil, fmt.Errorf("%s is a directory; use list with {\"path\": %q} to see what it holds", show.Path(t.rel), t.rel)
	}
	if err := w.checkRegular(t); err != nil {
		return nil, err
	}
	if t.info.Size() > int64(w.cfg.Limits.FileBytes) {
		text, err := w.readHuge(ctx, t, in)
		return []agent.Part{agent.Text{Text: text}}, err
	}
	data, info, err := w.readAll(t, w.cfg.Limits.FileBytes)
	if err != nil {
		return nil, err
	}
	if mediaType := imageType(data); mediaType != "" {
		return w.image(ctx, t.rel, data, mediaType)
	}
	f, kind := decode(data)
	if kind != "" {
		return nil, binaryError(t.rel, kind, int64(len(data)))
	}
	if strings.EqualFold(path.Ext(t.rel), ".ipynb") && !in.Raw {
		if parts, err := w.notebook(ctx, f.text, in); err == nil {
			return parts, nil
		}
		// Not a notebook after all: showing the text is more useful than an error.
	}
	t.info = info
	return []agent.Part{agent.Text{Text: w.showText(ctx, t, f, in)}}, nil
}

func binaryError(rel, kind string, size int64) error {
	hint := "it cannot be shown as text"
	if kind == "PDF document" {
		hint = "PDF is not supported; convert it with a program such as pdftotext and read the result"
	}
	return fmt.Errorf("%s is a %s of %s; %s", show.Path(rel), kind, show.Size(size), hint)
}

// showText shows a range of a text and remembers it as shown.
func (w *Workspace) showText(ctx context.Context, t target, f textFile, in readIn) string {
	p := w.newPage(in)
	rest := f.text
	for n := 1; rest != ""; n++ {
		line, tail, _ := strings.Cut(rest, "\n")
		if !p.add(n, line) {
			break
		}
		rest = tail
	}
	total := countLines(f.text)
	if p.last >= p.first {
		w.views.add(ctx, t.rel, f.text, lineRange{p.first, p.last}, p.first == 1 && p.last == total)
	} else if total == 0 {
		w.views.add(ctx, t.rel, f.text, lineRange{1, 0}, true)
	}
	return p.finish(total, true, encodingNotes(f))
}

// encodingNotes describes the properties of a file that the numbered lines do not show.
func encodingNotes(f textFile) string {
	var ns []string
	name := f.src.Name()
	switch {
	case !f.src.UTF8() && !f.src.Sure:
		ns = append(ns, "the encoding of the file is not certain: it is shown as "+name+", and its bytes are kept; new text can use ASCII and the characters that the file has")
	case !f.src.UTF8():
		ns = append(ns, "the file is "+name+", shown as UTF-8 and written back as "+name)
	}
	if f.src.Broken {
		ns = append(ns, "bytes that are not "+name+" are shown as \uFFFD and kept as they are")
	}
	if lf, crlf := strings.Count(f.text, "\n"), strings.Count(f.text, "\r\n"); crlf > 0 {
		if crlf == lf {
			ns = append(ns, "lines end in CRLF, which is kept; write plain newlines")
		} else {
			ns = append(ns, "line endings are mixed, LF and CRLF; they are kept")
		}
	}
	return strings.Join(ns, "; ")
}

// A page collects numbered lines until a limit is reached.
type page struct {
	b           strings.Builder
	first, last int // lines shown so far
	limit       int // maximum number of lines
	bytes       int
	lineBytes   int
	cut         bool // some lines were shortened
	full        bool // stopped by a limit
	byBytes     bool // and the limit was ReadBytes

	decode func([]byte) string // of the file's encoding; nil for UTF-8
}

func (w *Workspace) newPage(in readIn) *page {
	p := &page{first: max(in.Offset, 1), limit: in.Limit, bytes: w.cfg.Limits.ReadBytes, lineBytes: w.cfg.Limits.LineBytes}
	if p.limit <= 0 || p.limit > w.cfg.Limits.ReadLines {
		p.limit = w.cfg.Limits.ReadLines
	}
	p.last = p.first - 1
	return p
}

// add takes line n without its "\n" and reports whether the page has room for more. Lines before
// the range are skipped.
func (p *page) add(n int, line string) bool {
	if n < p.first {
		return true
	}
	if n-p.first >= p.limit {
		p.full = true
		return false
	}
	text := show.Line(strings.TrimSuffix(line, "\r"), p.lineBytes)
	if p.last >= p.first && p.b.Len()+len(text) > p.bytes {
		p.full, p.byBytes = true, true
		return false
	}
	p.cut = p.cut || len(line) > p.lineBytes+1
	p.b.WriteString(strconv.Itoa(n))
	p.b.WriteByte('\t')
	p.b.WriteString(text)
	p.b.WriteByte('\n')
	p.last = n
	return true
}

// finish adds what the model must know besides the lines. total is the number of lines seen; all
// reports whether that is the whole file.
func (p *page) finish(total int, all bool, more string) string {
	var ns []string
	of := strconv.Itoa(total)
	if !all {
		of = "more than " + of
	}
	switch {
	case total == 0 && all:
		ns = append(ns, "the file is empty")
	case p.last < p.first:
		ns = append(ns, fmt.Sprintf("nothing to show: the file has %d lines, and line %d was asked for", total, p.first))
	case p.full:
		ns = append(ns, fmt.Sprintf("lines %d-%d of %s; go on with offset %d", p.first, p.last, of, p.last+1))
	case p.first > 1:
		ns = append(ns, fmt.Sprintf("lines %d-%d of %s, the end", p.first, p.last, of))
	}
	if p.cut {
		ns = append(ns, fmt.Sprintf("lines over %d bytes are cut", p.lineBytes))
	}
	p.b.WriteString(notes(append(ns, more)...))
	return strings.TrimSuffix(p.b.String(), "\n")
}

// headBytes is the size of the beginning that tells the kind and the encoding of a huge file.
const headBytes = 64 << 10

// readHuge shows a range of a file too large for memory. It reads the file once from the start, in
// pieces, and stops after the range. Nothing is recorded as shown: these tools do not edit such a
// file.
func (w opened) readHuge(ctx context.Context, t target, in readIn) (string, error) {
	f, info, err := w.openFile(t)
	if err != nil {
		return "", err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 256<<10)
	head, err := r.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("%s: %w", show.Path(t.rel), show.Cause(err))
	}
	if i := bytes.LastIndexByte(head, '\n'); i > 0 && bytes.IndexByte(head, 0) < 0 {
		head = head[:i+1] // do not judge half a character
	}
	text, kind := decode(head)
	if kind != "" {
		return "", binaryError(t.rel, kind, info.Size())
	}
	if text.src.Wide() {
		name := text.src.Name()
		return "", fmt.Errorf("%s is %s and has %s; %s can be read up to %s only: convert it with iconv first", show.Path(t.rel), name, show.Size(info.Size()), name, show.Size(int64(w.cfg.Limits.FileBytes)))
	}
	if bytes.HasPrefix(head, []byte(bomUTF8)) {
		_, _ = r.Discard(len(bomUTF8))
	}
	p := w.newPage(in)
	notes := ""
	if !text.src.UTF8() {
		p.decode, notes = text.src.More, "the file is "+text.src.Name()+", shown as UTF-8; "
	}
	total, all, err := scanLines(ctx, r, p)
	if err != nil {
		return "", fmt.Errorf("%s: %w", show.Path(t.rel), show.Cause(err))
	}
	return p.finish(total, all, notes+fmt.Sprintf("the file has %s: use grep to find places in it", show.Size(info.Size()))), nil
}

// scanLines adds the lines of r to p until it is full. Of a long line only the part that p can show
// is kept in memory.
func scanLines(ctx context.Context, r *bufio.Reader, p *page) (total int, all bool, err error) {
	line := make([]byte, 0, p.lineBytes+2)
	length := 0
	for {
		if p.last-p.first+1 == p.limit { // the page is full: look only one byte ahead to see whether the file goes on, because the next line may be endless
			_, err := r.Peek(1)
			p.full = err == nil
			return total, err != nil, nil
		}
		piece, err := r.ReadSlice('\n')
		length += len(piece)
		if room := p.lineBytes + 2 - len(line); room > 0 && total+1 >= p.first {
			line = append(line, piece[:min(room, len(piece))]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return total, false, err
		}
		if length > 0 {
			total++
			if !p.addCut(total, bytes.TrimSuffix(line, []byte("\n")), length) {
				return total, false, nil
			}
		}
		if err != nil {
			return total, true, nil
		}
		line, length = line[:0], 0
		if total%4096 == 0 && ctx.Err() != nil {
			return total, false, context.Cause(ctx)
		}
	}
}

// addCut is add for a line of which only the beginning is available.
func (p *page) addCut(n int, line []byte, length int) bool {
	if n < p.first {
		return true
	}
	s := string(line)
	if p.decode != nil {
		s = p.decode(line)
		length += len(s) - len(line)
	}
	if len(s) <= p.lineBytes || length <= len(s)+2 {
		return p.add(n, s)
	}
	if !p.add(n, show.Line(s[:p.lineBytes], p.lineBytes)+"… ["+show.Size(int64(length-p.lineBytes))+" more on this line]") {
		return false
	}
	p.cut = true
	return true
}
