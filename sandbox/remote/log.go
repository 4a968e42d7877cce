package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// runLog holds the output and end of a command or call in a file. It is written once, and can be read from any
// byte while it grows and afterwards.
type runLog struct {
	file *os.File
	most int64 // limit of output; the end always fits

	mu    sync.Mutex
	size  int64
	ended bool
	grown chan struct{} // closed and replaced when the log has grown
}

var (
	errFull  = errors.New("output exceeds the quota")
	errEnded = errors.New("the log has ended")
)

func createLog(path string, most int64) (*runLog, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &runLog{file: f, most: most, grown: make(chan struct{})}, nil
}

// reopenLog opens a log that an earlier server left, and shows its frames. A frame that was not
// completely written was never served, and is removed; a log without an end gets one.
func reopenLog(path string, show func(kind byte, data []byte)) (*runLog, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	l := &runLog{file: f, grown: make(chan struct{})}
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
	if err := l.append(appendFrame(frames, frameEnd, b)); err != nil || !durable {
		return err
	}
	return l.file.Sync()
}

// append adds whole frames.
func (l *runLog) append(frames []byte) error {
	n, err := l.file.WriteAt(frames, l.size)
	if err != nil {
		return errors.Join(err, l.file.Truncate(l.size))
	}
	l.size += int64(n)
	close(l.grown)
	l.grown = make(chan struct{})
	return nil
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
			if _, err := io.Copy(w, io.NewSectionReader(l.file, from, size-from)); err != nil {
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
