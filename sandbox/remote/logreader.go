package remote

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// logReader reads a log, in whole frames: after an interruption within a frame, the frame is
// requested again from its first byte.
type logReader struct {
	at   int64 // bytes read
	over bool
	buf  []byte
}

// longRead is the time after which an answer that is cut off counts as progress although it had no
// frames: a gateway ends the answers of a command that is silent.
const longRead = time.Second

// read reads from l.at until the log ends or is cut off. open requests it, frame uses a frame.
func (l *logReader) read(open func() (*http.Response, error), frame func(kind byte, data []byte) error) error {
	resp, err := open()
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	began := time.Now()
	err = l.frames(resp.Body, frame)
	var stop final
	if err != nil && !errors.As(err, &stop) && time.Since(began) > longRead {
		return final{errProgress{err}}
	}
	return err
}

func (l *logReader) frames(r io.Reader, use func(kind byte, data []byte) error) error {
	br := bufio.NewReaderSize(r, 4<<10) // large frames are read around it
	for !l.over {
		kind, data, err := readFrame(br, l.buf)
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF // a log without an end was cut off
		}
		if err != nil {
			return err
		}
		l.buf = data[:0]
		if err := use(kind, data); err != nil {
			return final{err}
		}
		l.over = kind == frameEnd
		l.at += int64(frameHead + len(data))
	}
	return nil
}

// retryFrom is retry for data whose reading continues at *at: every byte received restarts the
// patience.
func (c *client) retryFrom(ctx context.Context, at *int64, read func() error) error {
	for {
		before := *at
		err := c.retry(ctx, func() error {
			err := read()
			var stop final
			if err != nil && *at > before && !errors.As(err, &stop) {
				return final{errProgress{err}}
			}
			return err
		})
		var progress errProgress
		if !errors.As(err, &progress) {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), progress.error)
		}
	}
}

type errProgress struct{ error }
