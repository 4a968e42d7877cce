package remote

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
)

// runLog holds a command's output and end in a file. It is written once, and can be read from any
// byte while it grows and afterwards.
type runLog struct {
	file *os.File
	most int64 // limit of output; the end always fits

	mu    sync.Mutex
	size  int64
	ended bool
	grown chan struct{} // closed and replaced when the log has grown
}

var errFull = errors.New("output exceeds the quota")

func createLog(path string, most int64) (*runLog, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &runLog{file: f, most: most, grown: make(chan struct{})}, nil
}

// reopenLog opens a log that an earlier server left. A frame that was not completely written was
// never served, and is removed; a log without an end gets one.
func reopenLog(path string) (*runLog, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	l := &runLog{file: f, grown: make(chan struct{})}
	r := &counter{r: f}
	var buf []byte
	for !l.ended {
		var kind byte
		kind, buf, err = readFrame(r, buf)
		if err != nil {
			break
		}
		l.size, l.ended = r.n, kind == frameEnd
	}
	if err = f.Truncate(l.size); err == nil && !l.ended {
		err = l.end(ended{Error: toWire(ErrLost)})
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

// write appends output.
func (l *runLog) write(kind byte, data []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(data)) > l.most {
		return errFull
	}
	for len(data) > 0 {
		n := min(len(data), maxChunk)
		if err := l.append(kind, data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// end appends the end, and syncs the log to disk.
func (l *runLog) end(e ended) error {
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
	return errors.Join(l.append(frameEnd, b), l.file.Sync())
}

func (l *runLog) append(kind byte, data []byte) error {
	frame := appendFrame(make([]byte, 0, 5+len(data)), kind, data)
	n, err := l.file.WriteAt(frame, l.size)
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

// copyFrom sends the log from a byte on, as it grows, until its end.
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
			flush()
			continue
		}
		if ended {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
