package coding

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"sync"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
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
	paths := make(chan string, 256)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), grepWorkers) {
		wg.Go(func() {
			g := grepper{w: w, ctx: ctx, j: j, found: found}
			defer g.close()
			for rel := range paths {
				if ctx.Err() == nil {
					g.file(rel)
				}
			}
		})
	}
	_, err := w.walk(ctx, j.from, j.all, func(rel string, d fs.DirEntry) error {
		if !d.Type().IsRegular() || !j.wants(rel) {
			return nil
		}
		select {
		case paths <- rel:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	close(paths)
	wg.Wait()
	return err
}

// grepper searches files one after the other, and keeps what the next one can use: its buffer, and
// the directory of the last file, so that the path to it is walked once.
type grepper struct {
	w     opened
	ctx   context.Context
	j     *grepJob
	found *grepResults
	buf   []byte
	dir   string
	in    *os.Root // dir; nil before the first file
}

func (g *grepper) close() {
	if g.in != nil && g.in != g.w.root {
		g.in.Close()
	}
	g.in = nil
}

// open opens a regular file.
func (g *grepper) open(rel string) (*os.File, fs.FileInfo, error) {
	dir := path.Dir(rel)
	if g.in == nil || dir != g.dir {
		g.close()
		in, err := g.w.root, error(nil)
		if dir != "." {
			in, err = regular.OpenRootIn(g.w.root, dir)
		}
		if err != nil {
			return nil, nil, err
		}
		g.dir, g.in = dir, in
	}
	return regular.OpenInfoIn(g.in, path.Base(rel), os.O_RDONLY)
}

// file searches one file. A file that has vanished is left out; one that cannot be read is counted.
func (g *grepper) file(rel string) {
	f, info, err := g.open(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, regular.ErrNotRegular):
	case err != nil:
		g.found.unreadable()
	default:
		g.search(rel, f, info.Size())
	}
}

// search searches an open file, and closes it.
func (g *grepper) search(rel string, f *os.File, size int64) {
	defer f.Close()
	j, limits := g.j, g.w.cfg.Limits
	if j.p.multiline && size > int64(limits.FileBytes) {
		g.found.tooLarge()
		return
	}
	s := &grepScan{p: j.p, before: j.before, after: j.after, maxLines: j.keep, lineBytes: limits.LineBytes, size: g.w.grepPiece, single: !j.from.info.IsDir()}
	s.out.rel = rel
	if g.buf == nil {
		g.buf = make([]byte, 0, g.w.grepPiece)
	}
	var err error
	g.buf, err = s.run(g.ctx, f, size, g.buf[:0])
	switch {
	case errors.Is(err, errBinary):
	case err != nil:
		g.found.unreadable()
	case s.out.count > 0:
		g.found.add(s.out)
	}
}

var errBinary = errors.New("binary file")

// run reads f in pieces of whole lines. For a multiline pattern, and for files that are not UTF-8,
// it reads the whole rest of the file.
func (s *grepScan) run(ctx context.Context, f io.Reader, size int64, buf []byte) ([]byte, error) {
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
		room := buf[len(buf):cap(buf)]
		small := first && size > 0 && size < int64(len(room))
		if small {
			room = room[:size] // the file is read at once, without looking for its end
		}
		n, err := io.ReadFull(f, room)
		end := small || err == io.EOF || err == io.ErrUnexpectedEOF
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = nil
		}
		if err != nil {
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
