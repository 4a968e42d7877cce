package coding

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"sync"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/tools/coding/internal/charset"
)

// grepJob is one search: its place, its pattern, and how many results to keep.
type grepJob struct {
	from          target
	all           bool // include ignored files
	names         nameFilter
	types         nameFilter
	p             *grepPattern
	before, after int
	keep          int // matching lines to keep per file; 0 for none, -1 for all
}

func (j *grepJob) wants(rel string) bool { return j.names.match(rel) && j.types.match(rel) }

const (
	grepWorkers = 8
	grepPiece   = 1 << 20  // bytes per read, unless a test changes it
	grepMaxLine = 32 << 20 // a file with a longer line is not text
)

// grepGo is the built-in search: one goroutine walks, several read and match.
func (w opened) grepGo(ctx context.Context, j *grepJob, found *grepResults) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	paths := make(chan target, 256)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), grepWorkers) {
		wg.Go(func() {
			buf := make([]byte, 0, w.grepPiece)
			for t := range paths {
				if ctx.Err() == nil {
					buf = w.grepFile(ctx, j, t, buf, found)
				}
			}
		})
	}
	_, err := w.walk(ctx, j.from, j.all, func(rel string, d fs.DirEntry) error {
		if !d.Type().IsRegular() || !j.wants(rel) {
			return nil
		}
		select {
		case paths <- target{rel: rel}:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	close(paths)
	wg.Wait()
	return err
}

// grepFile searches one file and returns its buffer for reuse. Files that vanish or cannot be read
// are counted.
func (w opened) grepFile(ctx context.Context, j *grepJob, t target, buf []byte, found *grepResults) []byte {
	if t.info == nil {
		info, err := w.root.Lstat(t.rel)
		if err != nil || !info.Mode().IsRegular() {
			return buf
		}
		t.info = info
	}
	f, info, err := w.openFile(t)
	if err != nil {
		found.unreadable()
		return buf
	}
	defer f.Close()
	if j.p.multiline && info.Size() > int64(w.cfg.Limits.FileBytes) {
		found.tooLarge()
		return buf
	}
	s := &grepScan{p: j.p, before: j.before, after: j.after, maxLines: j.keep, lineBytes: w.cfg.Limits.LineBytes, size: w.grepPiece, single: !j.from.info.IsDir()}
	s.out.rel = t.rel
	buf, err = s.run(ctx, f, buf[:0])
	switch {
	case errors.Is(err, errBinary):
	case err != nil:
		found.unreadable()
	case s.out.count > 0:
		found.add(s.out)
	}
	return buf
}

var errBinary = errors.New("binary file")

// run reads f in pieces of whole lines. For a multiline pattern, and for files that are not UTF-8,
// it reads the whole rest of the file.
func (s *grepScan) run(ctx context.Context, f io.Reader, buf []byte) ([]byte, error) {
	first, whole := true, s.p.multiline
	for {
		if err := ctx.Err(); err != nil {
			return buf, err
		}
		if cap(buf)-len(buf) < s.size/2 {
			grown := make([]byte, len(buf), 2*cap(buf)+s.size)
			copy(grown, buf)
			buf = grown
		}
		n, err := io.ReadFull(f, buf[len(buf):cap(buf)])
		end := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !end {
			return buf, err
		}
		fresh := buf[len(buf) : len(buf)+n]
		buf = buf[:len(buf)+n]
		if first {
			first = false
			s.wide = charset.Marked(buf) || s.single && charset.IsWide(buf)
			whole = whole || s.wide
		}
		if !s.wide && bytes.IndexByte(fresh, 0) >= 0 {
			return buf, errBinary
		}
		switch i := bytes.LastIndexByte(buf, '\n') + 1; {
		case end:
			return buf, s.last(buf)
		case whole:
			if len(buf) > 4*grepMaxLine {
				return buf, errBinary
			}
		case i == 0 && len(buf) > grepMaxLine:
			return buf, errBinary
		case !utf8.Valid(buf[:i]):
			whole = true
		default:
			s.piece(s.withoutBOM(buf[:i]))
			buf = buf[:copy(buf, buf[i:])]
		}
	}
}

// last searches the remainder at the end of a file.
func (s *grepScan) last(buf []byte) error {
	if !s.wide && utf8.Valid(buf) {
		s.piece(s.withoutBOM(buf))
		return nil
	}
	f, kind := decode(buf)
	if kind != "" {
		return errBinary
	}
	s.piece([]byte(f.text))
	return nil
}

func (s *grepScan) withoutBOM(buf []byte) []byte {
	if s.num > 0 {
		return buf
	}
	return bytes.TrimPrefix(buf, []byte(bomUTF8))
}
