package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/sandbox"
)

// talk records what a call has asked and sent.
type talk struct {
	mu        sync.Mutex
	questions []*question
	open      int
	artifacts map[string]bool // hashes
}

// question is a question of a call.
type question struct {
	given  []byte          // the answer that was given, or nil
	answer chan wireAnswer // with room for one
}

type wireQuestion struct {
	N        int             `json:"n"`
	Question json.RawMessage `json:"question"`
}

type wireAnswer struct {
	Answer json.RawMessage `json:"answer,omitempty"`
	Error  *wireError      `json:"error,omitempty"`
}

type wireArtifact struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
	Size int64  `json:"size"`
}

// send adds output to the log. A call whose output exceeds the quota is cancelled.
func (c *call) send(kind byte, data []byte) {
	if c.write(kind, data) {
		c.cancel(fmt.Errorf("%w: output of the call", ErrQuota))
	}
}

// sendWhole adds a frame that is not divided.
func (c *call) sendWhole(kind byte, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(data) > maxWhole {
		return fmt.Errorf("a message of %d bytes, more than %d", len(data), maxWhole)
	}
	c.send(kind, data)
	return nil
}

// Progress implements ToolOutput.
func (c *call) Progress(text string) {
	for len(text) > maxChunk {
		n := maxChunk
		for n > maxChunk-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		c.send(frameProgress, []byte(text[:n]))
		text = text[n:]
	}
	c.send(frameProgress, []byte(text))
}

// Output implements ToolOutput.
func (c *call) Output(stream sandbox.Stream, data []byte) {
	kind := byte(frameStdout)
	if stream == sandbox.Stderr {
		kind = frameStderr
	}
	c.send(kind, data)
}

// Ask implements ToolOutput.
func (c *call) Ask(ctx context.Context, ask json.RawMessage) (json.RawMessage, error) {
	q, err := c.pose(ask)
	if err != nil {
		return nil, fmt.Errorf("sandbox: ask client: %w", err)
	}
	defer func() {
		c.talk.mu.Lock()
		c.talk.open--
		c.talk.mu.Unlock()
	}()
	select {
	case a := <-q.answer:
		if a.Error != nil {
			return nil, a.Error
		}
		return a.Answer, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// pose sends a question.
func (c *call) pose(ask json.RawMessage) (*question, error) {
	c.talk.mu.Lock()
	defer c.talk.mu.Unlock()
	if c.talk.open >= maxQuestions {
		return nil, fmt.Errorf("%d questions are open", maxQuestions)
	}
	q := &question{answer: make(chan wireAnswer, 1)}
	if err := c.sendWhole(frameQuestion, wireQuestion{len(c.talk.questions), ask}); err != nil {
		return nil, err
	}
	c.talk.questions = append(c.talk.questions, q)
	c.talk.open++
	return q, nil
}

// answer passes on an answer. The first one counts; the same again is accepted.
func (s *Server) answer(a *account, req *http.Request) (any, error) {
	c, err := s.wantCall(a, req)
	if err != nil {
		return nil, err
	}
	var w wireAnswer
	if err := body(req, &w); err != nil {
		return nil, err
	}
	given, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(req.PathValue("n"))
	c.talk.mu.Lock()
	defer c.talk.mu.Unlock()
	if err != nil || n < 0 || n >= len(c.talk.questions) {
		return nil, fmt.Errorf("%w: the call has no such question", errRequest)
	}
	q := c.talk.questions[n]
	if q.given == nil {
		q.given = given
		q.answer <- w
	}
	if !bytes.Equal(q.given, given) {
		return nil, fmt.Errorf("%w: the question has another answer already", errRequest)
	}
	return struct{}{}, nil
}

// Artifact implements ToolOutput.
func (c *call) Artifact(name string, data []byte) (string, error) {
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	if err := c.store.put(sum, bytes.NewReader(data), int64(len(data))); err != nil {
		return "", fmt.Errorf("sandbox: store artifact: %w", err)
	}
	c.talk.sent(sum)
	if err := c.sendWhole(frameArtifact, wireArtifact{name, sum, int64(len(data))}); err != nil {
		return "", fmt.Errorf("sandbox: store artifact: %w", err)
	}
	return sum, nil
}

// sent records that the client may fetch a content.
func (t *talk) sent(hash string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.artifacts == nil {
		t.artifacts = map[string]bool{}
	}
	t.artifacts[hash] = true
}

// serveArtifact serves a content that a call has sent to its client, or a range of it.
func (s *Server) serveArtifact(w http.ResponseWriter, req *http.Request) {
	a, err := s.enter(req)
	if err != nil {
		fail(w, err)
		return
	}
	defer s.work.Done()
	f, err := s.openArtifact(a, req)
	if err != nil {
		fail(w, err)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, req, "", time.Time{}, f)
}

func (s *Server) openArtifact(a *account, req *http.Request) (*os.File, error) {
	c, err := s.wantCall(a, req)
	if err != nil {
		return nil, err
	}
	hash := req.PathValue("hash")
	c.talk.mu.Lock()
	ok := c.talk.artifacts[hash]
	c.talk.mu.Unlock()
	if !ok || !c.store.has(hash) {
		return nil, fmt.Errorf("artifact of a call: %w", ErrLost)
	}
	return c.store.open(hash)
}

var errNoAnswers = errors.New("nobody answers questions here; decide without an answer")
