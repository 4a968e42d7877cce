package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// runLog holds the output and end of a command or call. It is written once, and can be read from
// any byte while it grows and afterwards. It is in a file, so that it outlives the server's
// process. That of a call is in memory for its first moment: most calls have ended by then, and are
// acknowledged, and making a file would be half of their cost.
type runLog struct {
	path string
	most int64 // limit of output; the end always fits

	mu    sync.Mutex
	file  *os.File // nil while the log is in memory
	mem   []byte
	late  *time.Timer // moves the log to a file
	gone  bool
	size  int64
	ended bool
	grown chan struct{} // closed and replaced when the log has grown
}

// The limits of a log in memory.
const (
	inMemory    = 128 << 10
	inMemoryFor = time.Second
)

var (
	errFull  = errors.New("output exceeds the quota")
	errEnded = errors.New("the log has ended")
)

func createLog(path string, most int64) (*runLog, error) {
	l := &runLog{path: path, most: most, grown: make(chan struct{})}
	return l, l.toFile()
}

// createLogInMemory makes a log that becomes a file when it is long or old.
func createLogInMemory(path string, most int64) (*runLog, error) {
	l := &runLog{path: path, most: most, grown: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late = time.AfterFunc(inMemoryFor, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		_ = l.toFile() // it stays in memory if the disk is full
	})
	return l, nil
}

// toFile moves the log to its file.
func (l *runLog) toFile() error {
	if l.file != nil || l.gone {
		return nil
	}
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(l.mem, 0); err != nil {
		return errors.Join(err, f.Close(), os.Remove(l.path))
	}
	l.file, l.mem = f, nil
	return nil
}

// close ends the use of the log, and leaves a file.
func (l *runLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.toFile()
	l.shut()
	return err
}

// remove ends the use of the log, and leaves nothing. Active readers of a file find it closed.
func (l *runLog) remove() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = os.Remove(l.path)
	}
	l.shut()
}

func (l *runLog) shut() {
	l.gone = true
	if l.late != nil {
		l.late.Stop()
	}
	if l.file != nil {
		_ = l.file.Close()
	}
}

// reopenLog opens a log that an earlier server left, and shows its frames. A frame that was not
// completely written was never served, and is removed; a log without an end gets one.
func reopenLog(path string, show func(kind byte, data []byte)) (*runLog, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	l := &runLog{path: path, file: f, grown: make(chan struct{})}
	r := &counter{r: bufio.NewReaderSize(f, 64<<10)}
	var buf []byte
	for !l.ended {
		var kind byte
		kind, buf, err = readFrame(r, buf)
		if err != nil {
			break
		}
		show(kind, buf)
		l.size, l.ended = r.n, kind == frameEnd
	}
	if err = f.Truncate(l.size); err == nil && !l.ended {
		err = l.end(nil, ended{Error: toWire(ErrLost)}, true)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// write appends output, in frames of at most maxChunk if the kind is one that may be divided.
func (l *runLog) write(kind byte, data []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended:
		return errEnded
	case l.size+int64(len(data)) > l.most:
		return errFull
	case kind != frameStdout && kind != frameStderr:
		return l.append(appendFrame(make([]byte, 0, frameHead+len(data)), kind, data))
	}
	for piece := range slices.Chunk(data, maxChunk) {
		if err := l.append(appendFrame(make([]byte, 0, frameHead+len(piece)), kind, piece)); err != nil {
			return err
		}
	}
	return nil
}

// end appends a result, which may be empty, and the end. A durable log is then synced to disk.
func (l *runLog) end(result []byte, e any, durable bool) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	// The log has ended even if the end cannot be stored, for those who wait.
	l.ended = true
	frames := make([]byte, 0, len(result)+len(b)+frameHead*(2+len(result)/maxChunk))
	for piece := range slices.Chunk(result, maxChunk) {
		frames = appendFrame(frames, frameResult, piece)
	}
	if err := l.append(appendFrame(frames, frameEnd, b)); err != nil || !durable || l.file == nil {
		return err
	}
	return l.file.Sync()
}

// append adds whole frames.
func (l *runLog) append(frames []byte) error {
	if l.file == nil && len(l.mem)+len(frames) > inMemory {
		if err := l.toFile(); err != nil {
			return err
		}
	}
	if l.file == nil {
		l.mem = append(l.mem, frames...)
	} else if _, err := l.file.WriteAt(frames, l.size); err != nil {
		return errors.Join(err, l.file.Truncate(l.size))
	}
	l.size += int64(len(frames))
	close(l.grown)
	l.grown = make(chan struct{})
	return nil
}

// section reads a part of the log, which is not written any more.
func (l *runLog) section(from, to int64) io.Reader {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return bytes.NewReader(l.mem[from:to])
	}
	return io.NewSectionReader(l.file, from, to-from)
}

func (l *runLog) state() (size int64, ended bool, grown <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size, l.ended, l.grown
}

// await returns when the log is longer than size or has ended, and after a time at the latest.
func (l *runLog) await(ctx context.Context, size int64, most time.Duration) {
	var late <-chan time.Time
	for {
		now, ended, grown := l.state()
		if now > size || ended {
			return
		}
		if late == nil {
			t := time.NewTimer(most)
			defer t.Stop()
			late = t.C
		}
		select {
		case <-grown:
		case <-late:
			return
		case <-ctx.Done():
			return
		}
	}
}

// copyFrom sends the log from a byte on, as it grows, until its end. It flushes before it waits.
func (l *runLog) copyFrom(ctx context.Context, w io.Writer, flush func(), from int64) error {
	for {
		size, ended, grown := l.state()
		if from > size {
			return errors.New("the log is not that long")
		}
		if from < size {
			if _, err := io.Copy(w, l.section(from, size)); err != nil {
				return err
			}
			from = size
			continue
		}
		if ended {
			return nil
		}
		flush()
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
