package coding

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// procLog holds the output of a program that nobody has read yet. Up to its limit it is in memory;
// beyond that, memory holds the beginning and the end, and a temporary file holds all of it, up to
// a limit of its own.
type procLog struct {
	mu      sync.Mutex
	limit   int   // maximum number of bytes shown
	maxDisk int64 // maximum number of bytes in the file
	head    []byte
	tail    []byte
	total   int64 // bytes since the last read
	file    *os.File
	onDisk  int64
	fileErr error

	recent  []byte        // the end of the output since the last progress display
	trimmed bool          // recent does not begin with a whole line
	held    int           // how often progress has held back an unfinished line
	changed chan struct{} // closed when there is more to read
	closed  bool
}

// maxRecent limits one piece of progress.
const maxRecent = 4 << 10

func newProcLog(limit int, maxDisk int64) *procLog {
	return &procLog{limit: limit, maxDisk: maxDisk, changed: make(chan struct{})}
}

// Write accepts all of p and never fails.
func (l *procLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(p)
	if n == 0 || l.closed {
		return n, nil
	}
	l.trimmed = l.trimmed || len(l.recent)+n > maxRecent
	l.recent = appendTail(l.recent, p, maxRecent)
	if over := l.total+int64(n) > int64(l.limit); over {
		if l.total <= int64(l.limit) {
			l.toDisk(l.head)
			half := l.limit / 2
			l.tail = append(l.tail[:0], l.head[min(half, len(l.head)):]...)
			l.head = l.head[:min(half, len(l.head))]
		}
		l.toDisk(p)
		rest := p
		if room := l.limit/2 - len(l.head); room > 0 && len(l.tail) == 0 {
			k := min(room, len(rest))
			l.head, rest = append(l.head, rest[:k]...), rest[k:]
		}
		l.tail = appendTail(l.tail, rest, l.limit-l.limit/2)
	} else {
		l.head = append(l.head, p...)
	}
	l.total += int64(n)
	close(l.changed)
	l.changed = make(chan struct{})
	return n, nil
}

// appendTail appends p to b and keeps the last max bytes, or slightly more, so that the total
// copying stays linear.
func appendTail(b, p []byte, max int) []byte {
	if len(p) >= max {
		return append(b[:0], p[len(p)-max:]...)
	}
	b = append(b, p...)
	if len(b) > 2*max {
		b = append(b[:0], b[len(b)-max:]...)
	}
	return b
}

func lastBytes(b []byte, max int) []byte { return b[len(b)-min(len(b), max):] }

func (l *procLog) toDisk(p []byte) {
	if l.fileErr != nil || len(p) == 0 {
		return
	}
	if l.file == nil {
		if l.file, l.fileErr = unlinkedTemp(); l.fileErr != nil {
			return
		}
	}
	if room := l.maxDisk - l.onDisk; int64(len(p)) > room {
		p = p[:max(room, 0)]
	}
	n, err := l.file.Write(p)
	l.onDisk += int64(n)
	l.fileErr = err
}

// unlinkedTemp returns a file that disappears when it is closed, however the program ends.
func unlinkedTemp() (*os.File, error) {
	f, err := os.CreateTemp("", "luthier-output-*")
	if err != nil {
		return nil, err
	}
	// On systems where an open file cannot be removed, it is removed when it is closed.
	_ = os.Remove(f.Name())
	return f, nil
}

func dropTemp(f *os.File) {
	if f != nil {
		f.Close()
		_ = os.Remove(f.Name())
	}
}

func (l *procLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	dropTemp(l.file)
	l.file = nil
}

// more returns a channel that is closed at the next output, and the amount of output so far.
func (l *procLog) more() (<-chan struct{}, int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed, l.total
}

// maxHeld is the number of calls of progress that hold back an unfinished line, such as a question
// of the program.
const maxHeld = 10

// progress returns the end of the output since the last call, in whole lines, so that middleware
// that looks for secrets does not get half of one. A line that stays unfinished is returned after
// some calls.
func (l *procLog) progress() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := bytes.LastIndexAny(l.recent, "\n\r") + 1
	if end < len(l.recent) {
		if l.held++; l.held > maxHeld {
			end = len(l.recent)
		}
	}
	return l.upTo(end)
}

// rest returns what progress has held back.
func (l *procLog) rest() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.upTo(len(l.recent))
}

// upTo returns the end of recent up to a position and forgets it. l.mu is held.
func (l *procLog) upTo(end int) string {
	if end == 0 {
		return ""
	}
	out := lastBytes(l.recent[:end], maxRecent)
	if l.trimmed || end > maxRecent {
		if i := bytes.IndexAny(out, "\n\r"); i >= 0 && i+1 < len(out) {
			out = out[i+1:] // the rest of a line of which the beginning is lost
		}
	}
	s := show.Clean(out)
	l.recent, l.held, l.trimmed = append(l.recent[:0], l.recent[end:]...), 0, false
	return s
}

// peek returns what take would show, for matching, without marking it as read.
func (l *procLog) peek() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return show.Clean(l.head) + show.Clean(lastBytes(l.tail, l.limit-l.limit/2))
}

// keepFunc stores a text and returns its handle.
type keepFunc func(ctx context.Context, name string, data []byte) (handle string, err error)

// take returns the output since the last take and marks it as read. If it is too long to show, all
// of it is stored with keep, and a line in the middle says where.
func (l *procLog) take(ctx context.Context, name string, keep keepFunc) string {
	l.mu.Lock()
	head, tail, total := show.Clean(l.head), lastBytes(l.tail, l.limit-l.limit/2), l.total
	omitted := total - int64(len(l.head)) - int64(len(tail))
	var stored []byte
	lost, err := int64(0), l.fileErr
	if omitted > 0 {
		if stored, err = l.stored(); err == nil {
			lost = total - int64(len(stored))
		}
	}
	shown := show.Clean(tail)
	l.reset()
	l.mu.Unlock()
	if omitted <= 0 {
		return head + shown
	}
	handle := ""
	if err == nil {
		handle, err = keep(ctx, name, []byte(show.Clean(stored)))
	}
	note := fmt.Sprintf("%s left out here", show.Size(omitted))
	switch {
	case err != nil:
		note += "; it could not be kept: " + err.Error()
	case lost > 0:
		note += fmt.Sprintf("; the first %s of the output are artifact %s", show.Size(int64(len(stored))), handle)
	default:
		note += "; the whole output is artifact " + handle + ", for read_artifact"
	}
	return head + "\n[... " + note + " ...]\n" + shown
}

// whole returns the complete output, or its beginning if it is too long, and the number of missing
// bytes.
func (l *procLog) whole() (data []byte, lost int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total <= int64(l.limit) {
		return l.head, 0, nil
	}
	data, err = l.stored()
	return data, l.total - int64(len(data)), err
}

// end returns the last max bytes or slightly fewer, starting at the beginning of a line if there is
// one.
func (l *procLog) end(max int) string {
	l.mu.Lock()
	text := show.Clean(lastBytes(append(append([]byte{}, l.head...), l.tail...), max))
	cut := l.total > int64(max)
	l.mu.Unlock()
	if i := strings.IndexByte(text, '\n'); cut && i >= 0 {
		text = text[i+1:]
	}
	return text
}

func (l *procLog) stored() ([]byte, error) {
	if l.fileErr != nil {
		return nil, l.fileErr
	}
	if l.file == nil {
		return nil, errors.New("there is no copy on disk")
	}
	data := make([]byte, l.onDisk)
	if _, err := l.file.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return data, nil
}

func (l *procLog) reset() {
	l.head, l.tail, l.total = nil, nil, 0
	dropTemp(l.file)
	l.file, l.onDisk, l.fileErr = nil, 0, nil
}
