package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/luthier-dev/luthier/internal/wait"
	"github.com/luthier-dev/luthier/sandbox"
)

// Call runs a tool once and returns its result, whatever happens to the connection. The kind of its
// error says how the call ended:
//
//   - a [ToolError]: the tool ran and failed. Its text is the tool's.
//   - one that is [ErrLost]: it is unknown whether, or how far, the call ran: the server was
//     restarted, could not be reached for Options.Patience, or the sandbox was closed meanwhile.
//     Look at the workspace before doing it again.
//   - any other, such as [ErrChanged]: the call did not run.
//
// If ctx ends, the server ends the call, and Call waits a moment for its outcome. ctx's deadline
// holds on the server too.
func (t *Tools) Call(ctx context.Context, q ToolRequest, h ToolHandlers) (json.RawMessage, error) {
	if at, ok := ctx.Deadline(); ok {
		if left := max(time.Until(at), 1); q.Timeout <= 0 || left < q.Timeout {
			q.Timeout = left
		}
	}
	v, err := t.run(ctx, "/calls/", callRequest{Op: opTool, ToolRequest: q}, h)
	return v, toolWord("call tool "+q.Name, err)
}

// Snapshot records the workspace and returns the checkpoint's id. It is done once, as a call is.
func (t *Tools) Snapshot(ctx context.Context, label string) (id string, err error) {
	return t.checkpoint(ctx, opSnapshot, label)
}

// Restore returns the workspace to a checkpoint, and returns the id of one that undoes the restore.
func (t *Tools) Restore(ctx context.Context, id string) (undo string, err error) {
	return t.checkpoint(ctx, opRestore, id)
}

// Undo goes back to the state before, and returns its id.
func (t *Tools) Undo(ctx context.Context) (id string, err error) {
	return t.checkpoint(ctx, opUndo, "")
}

// Redo takes back the last Undo, and returns the state's id.
func (t *Tools) Redo(ctx context.Context) (id string, err error) {
	return t.checkpoint(ctx, opRedo, "")
}

func (t *Tools) checkpoint(ctx context.Context, op, arg string) (id string, err error) {
	v, err := t.run(ctx, "/checkpoints/", callRequest{Op: op, Arg: arg}, ToolHandlers{})
	if err == nil {
		err = json.Unmarshal(v, &id)
	}
	return id, toolWord(op, err)
}

// cancelWait is the time for which Call waits for the end of a cancelled call. deadlineWait is the
// time that the server has to notice a deadline by itself, so that the call ends by that.
const (
	cancelWait   = 2 * time.Second
	deadlineWait = 300 * time.Millisecond
)

// caller follows a call to its end.
type caller struct {
	logReader
	c    *client
	h    ToolHandlers
	id   string
	path string // of the request
	body []byte
	name []byte // the call's callName

	ctx    context.Context // ends with the call
	sent   bool            // a request may have reached the server
	begun  bool            // the server has the call
	result []byte
	end    callEnd
	asked  int
	open   atomic.Int32 // questions without an answer
	asks   sync.WaitGroup
	known  atomic.Bool // the end was seen
}

// run makes a call and follows it.
func (t *Tools) run(ctx context.Context, path string, q callRequest, h ToolHandlers) (json.RawMessage, error) {
	switch {
	case t.c.ctx.Err() != nil:
		return nil, sandbox.ErrClosed
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	if len(body) > maxCall {
		return nil, fmt.Errorf("arguments of %d bytes, more than %d", len(body), maxCall)
	}
	id := newID()
	call := &caller{c: t.c, h: h, id: id, path: "/v1/sandboxes/" + t.c.id + path + id, body: body, name: callName(id, body)}
	// Not ctx's: a call that was cancelled has an outcome.
	reading, stop := context.WithCancelCause(t.c.ctx)
	defer stop(nil)
	var over context.CancelFunc
	call.ctx, over = context.WithCancel(reading)
	defer context.AfterFunc(ctx, func() {
		t.c.spawn(func() {
			late := errors.Is(ctx.Err(), context.DeadlineExceeded)
			if late {
				_ = wait.For(call.ctx, deadlineWait)
			}
			call.abort(late)
		})
		time.AfterFunc(cancelWait, func() { stop(context.Cause(ctx)) })
	})()
	err = t.c.retryFrom(reading, &call.at, func() error { return call.read(reading) })
	call.known.Store(err == nil)
	over()
	call.asks.Wait()
	if err != nil {
		if t.c.ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", sandbox.ErrClosed, err)
		}
		return nil, call.failed(err)
	}
	t.c.acks.add(id)
	if call.end.Error != nil {
		if call.end.Error.Tool {
			return nil, &ToolError{*call.end.Error}
		}
		return nil, call.end.Error
	}
	return call.result, nil
}

// failed returns the error of a call whose end was not seen.
func (f *caller) failed(err error) error {
	if !f.sent {
		return err
	}
	f.c.acks.add(f.id)
	f.c.spawn(func() { f.abort(false) }) // nobody waits for it
	if errors.Is(err, ErrLost) {
		return err
	}
	return fmt.Errorf("%w and may have run: %w", ErrLost, err)
}

// abort ends the call on the server, because of its deadline or another reason.
func (f *caller) abort(late bool) {
	if f.known.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(f.c.ctx, f.c.patience)
	defer cancel()
	_ = f.c.call(ctx, "POST", fmt.Sprintf("/v1/calls/%s/cancel?late=%t", f.id, late), nil, nil)
}

// read reads the log until it ends or is cut off. As long as it is unknown whether the server has
// the call, the request for it is made again.
func (f *caller) read(ctx context.Context) error {
	return f.logReader.read(func() (*http.Response, error) {
		method, path, body := "PUT", f.path+"?from=0", f.body
		if f.begun {
			method, path, body = "GET", "/v1/calls/"+f.id+"/log?from="+strconv.FormatInt(f.at, 10), nil
		}
		req, err := f.c.request(ctx, method, path, bytes.NewReader(body))
		if err != nil {
			return nil, final{err}
		}
		resp, err := f.c.answer(req)
		f.sent = f.sent || arrived(err)
		return resp, err
	}, f.frame)
}

// arrived reports whether a request with this outcome may have had an effect on the server, which a
// later answer may not know.
func arrived(err error) bool {
	var answer *wireError
	var op *net.OpError
	return !errors.As(err, &answer) && (!errors.As(err, &op) || op.Op != "dial")
}

// frame uses one frame. An error ends the reading.
func (f *caller) frame(kind byte, data []byte) error {
	if f.at == 0 && kind == frameCall {
		if !bytes.Equal(data, f.name) {
			return errors.New("the server sends the log of another call")
		}
		f.begun = true
		return nil
	}
	switch kind {
	case frameEnd:
		return f.ended(data)
	case frameProgress:
		if f.h.Progress != nil {
			f.h.Progress(string(data))
		}
		return f.started()
	case frameStdout, frameStderr:
		if f.h.Output != nil {
			f.h.Output(streamOf(kind), data)
		}
		return f.started()
	case frameQuestion:
		return errors.Join(f.started(), f.question(data))
	case frameArtifact:
		return errors.Join(f.started(), f.artifact(data))
	case frameResult:
		if len(f.result)+len(data) > maxResult {
			return fmt.Errorf("result of more than %d bytes", maxResult)
		}
		f.result = append(f.result, data...)
		return f.started()
	}
	return fmt.Errorf("the server sends a frame of kind %d in the middle", kind)
}

func streamOf(kind byte) sandbox.Stream {
	if kind == frameStderr {
		return sandbox.Stderr
	}
	return sandbox.Stdout
}

// started refuses a log that does not say whose it is.
func (f *caller) started() error {
	if f.begun {
		return nil
	}
	return errors.New("the server sends a log without its call")
}

// ended checks the end. Only an error may come without the call: an earlier server's crash.
func (f *caller) ended(data []byte) error {
	if err := json.Unmarshal(data, &f.end); err != nil {
		return err
	}
	switch e := &f.end; {
	case e.Error != nil:
		return nil
	case !f.begun || e.Call != f.id:
		return errors.New("the server sends the end of another call")
	case e.Size != int64(len(f.result)) || !json.Valid(f.result):
		return errors.New("the server sends a result that is not whole")
	}
	return nil
}

// question passes a question on, and the answer back. The log is read on meanwhile.
func (f *caller) question(data []byte) error {
	var q wireQuestion
	if err := json.Unmarshal(data, &q); err != nil {
		return err
	}
	if q.N != f.asked {
		return fmt.Errorf("the server sends question %d, want %d", q.N, f.asked)
	}
	f.asked++
	if f.open.Add(1) > 2*maxQuestions { // more than the server allows, since its view of an answer is ahead
		return fmt.Errorf("the server asks more than %d questions at once", 2*maxQuestions)
	}
	f.asks.Go(func() {
		f.reply(q)
		f.open.Add(-1)
	})
	return nil
}

func (f *caller) reply(q wireQuestion) {
	var w wireAnswer
	err := errNoAnswers
	if f.h.Ask != nil {
		w.Answer, err = f.h.Ask(f.ctx, q.Question)
	}
	if err == nil && (len(w.Answer) > maxWhole || !json.Valid(w.Answer)) {
		err = fmt.Errorf("the answer is not JSON of at most %d bytes", maxWhole)
	}
	if err != nil {
		w = wireAnswer{Error: toWire(err)}
	}
	_ = f.c.call(f.ctx, "POST", fmt.Sprintf("/v1/calls/%s/answers/%d", f.id, q.N), w, nil)
}

// artifact offers a text to the handler.
func (f *caller) artifact(data []byte) error {
	var w wireArtifact
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	if !validHash(w.Hash) || w.Size < 0 {
		return errors.New("the server sends a malformed artifact")
	}
	if f.h.Artifact == nil {
		return nil
	}
	return f.h.Artifact(f.ctx, &Artifact{Name: w.Name, Hash: w.Hash, Size: w.Size, c: f.c, call: f.id})
}

// Fetch writes the text to w. If it is cut off, it continues from there. A text that does not match
// its hash is an error.
func (a *Artifact) Fetch(ctx context.Context, w io.Writer) error {
	if a.fetch != nil {
		return a.fetch(ctx, w)
	}
	return word("fetch artifact", a.c.download(ctx, "/v1/calls/"+a.call+"/artifacts/"+a.Hash, a.Hash, a.Size, w))
}
