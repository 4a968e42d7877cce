package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// child is a command on the server.
type child struct {
	c    *client
	id   string
	num  int
	done chan struct{} // closed once end and err are set
	end  sandbox.Ended
	err  error

	signals atomic.Int64
}

// Spawn starts a command; it implements sandbox.Backend.
func (c *client) Spawn(ctx context.Context, s sandbox.Spawn) (sandbox.Child, error) {
	ch := &child{c: c, id: newID(), done: make(chan struct{})}
	var reply startReply
	err := c.call(ctx, "PUT", "/v1/sandboxes/"+c.id+"/commands/"+ch.id, startRequest{
		Args: toTexts(s.Args), Dir: text(s.Dir), Env: toTexts(s.Env), Merge: s.Stdout == s.Stderr,
	}, &reply)
	if err != nil {
		if ctx.Err() != nil { // the command may have started nevertheless
			c.work.Go(func() { _ = ch.Kill() })
		}
		return nil, err
	}
	ch.num = reply.PID
	fed, cancel := context.WithCancel(c.ctx)
	c.work.Go(func() {
		defer cancel()
		ch.follow(s)
	})
	// Not counted in the wait group: a reader of the caller may never return.
	go ch.feed(fed, s)
	return ch, nil
}

// PID is the process's number on the server.
func (ch *child) PID() int { return ch.num }

// Wait returns once the command has ended and its output was passed on.
func (ch *child) Wait() (sandbox.Ended, error) {
	<-ch.done
	return ch.end, ch.err
}

// Signal sends a signal to the process group.
func (ch *child) Signal(sig syscall.Signal) error {
	path := fmt.Sprintf("/v1/commands/%s/signal?signal=%d&n=%d", ch.id, int(sig), ch.signals.Add(1))
	return ch.c.call(ch.c.ctx, "POST", path, nil, nil)
}

// Kill ends the process and all its descendants.
func (ch *child) Kill() error {
	err := ch.c.call(context.WithoutCancel(ch.c.ctx), "POST", "/v1/commands/"+ch.id+"/kill", nil, nil)
	if errors.Is(err, ErrLost) || errors.Is(err, syscall.ESRCH) || errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// follow reads the log to its end, continues after interruptions, and acknowledges the log.
func (ch *child) follow(s sandbox.Spawn) {
	defer close(ch.done)
	defer s.Release()
	f := &follower{ch: ch, s: s}
	err := ch.c.retryFrom(ch.c.ctx, &f.at, f.read)
	switch {
	case err != nil:
		ch.end.Code, ch.err = -1, fmt.Errorf("%w: %w", ErrLost, err)
		return
	case f.end.Error != nil:
		ch.err = f.end.Error
	}
	ch.end = f.end.Ended
	// A lost acknowledgement only takes up space on the server for a while.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ch.c.ctx), 10*time.Second)
	defer cancel()
	_ = ch.c.call(ctx, "DELETE", "/v1/commands/"+ch.id, nil, nil)
}

// follower reads the log of a command.
type follower struct {
	logReader
	ch  *child
	s   sandbox.Spawn
	end ended
}

// read reads the log until it ends or is cut off.
func (f *follower) read() error {
	return f.logReader.read(func() (*http.Response, error) {
		c := f.ch.c
		req, err := c.request(c.ctx, "GET", "/v1/commands/"+f.ch.id+"/log?from="+strconv.FormatInt(f.at, 10), nil)
		if err != nil {
			return nil, final{err}
		}
		return c.answer(req)
	}, f.frame)
}

func (f *follower) frame(kind byte, data []byte) error {
	// A local reader that has closed does not stop the reading, since the end must still arrive.
	switch kind {
	case frameStdout:
		_, _ = f.s.Stdout.Write(data)
	case frameStderr:
		_, _ = f.s.Stderr.Write(data)
	case frameEnd:
		return json.Unmarshal(data, &f.end)
	}
	return nil
}

// feed sends the input, repeating each piece until the server has accepted it.
func (ch *child) feed(ctx context.Context, s sandbox.Spawn) {
	buf := make([]byte, maxChunk/2)
	var at int64
	for {
		n, err := s.Stdin.Read(buf)
		end := ""
		if err != nil {
			end = "&end=1"
		}
		path := fmt.Sprintf("/v1/commands/%s/stdin?at=%d%s", ch.id, at, end)
		if sendErr := ch.input(ctx, path, buf[:n]); sendErr != nil || err != nil {
			return
		}
		at += int64(n)
	}
}

func (ch *child) input(ctx context.Context, path string, data []byte) error {
	return ch.c.retry(ctx, func() error {
		req, err := ch.c.request(ctx, http.MethodPost, path, bytes.NewReader(data))
		if err != nil {
			return final{err}
		}
		return ch.c.do(req, nil)
	})
}
