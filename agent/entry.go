package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// EntryType names a kind of session entry.
type EntryType string

// The entries of a session's log.
const (
	EntrySession    EntryType = "session"    // the first line: Meta
	EntryMessage    EntryType = "message"    // a user message, or an assistant message with Usage and Finish
	EntryCall       EntryType = "call"       // a tool call is about to run
	EntryResult     EntryType = "result"     // a tool call ended
	EntryResults    EntryType = "results"    // a batch ended: the results of Calls, in this order, form one tool message
	EntryCompaction EntryType = "compaction" // Messages replace the live history
	EntryRedaction  EntryType = "redaction"  // Redactions replace parts of the live history by texts
	EntryPlan       EntryType = "plan"
	EntryTodos      EntryType = "todos"
	EntryGrant      EntryType = "grant"
	EntryCheckpoint EntryType = "checkpoint" // the workspace was snapshotted
	EntryUndo       EntryType = "undo"       // the workspace was restored to a checkpoint
	EntryRedo       EntryType = "redo"
	EntrySpend      EntryType = "spend" // tokens spent on anything other than a model call that added a message
)

// Entry is one line of a session's log, in JSON.
type Entry struct {
	Type EntryType `json:"type"`
	Time time.Time `json:"time,omitzero"`

	Meta         *SessionMeta      `json:"meta,omitempty"`
	Message      *Message          `json:"message,omitempty"`
	Usage        *Usage            `json:"usage,omitempty"`
	MicroDollars int64             `json:"micro_dollars,omitempty"`
	Finish       FinishReason      `json:"finish,omitempty"`
	Call         *ToolCall         `json:"call,omitempty"`
	Result       *ToolResult       `json:"result,omitempty"`
	Calls        []string          `json:"calls,omitempty"`
	Messages     []Message         `json:"messages,omitempty"`
	Report       *CompactionReport `json:"report,omitempty"`
	Redactions   []Redaction       `json:"redactions,omitempty"`
	Plan         *string           `json:"plan,omitempty"`
	Todos        []Todo            `json:"todos,omitempty"`
	Grant        *Grant            `json:"grant,omitempty"`
	Checkpoint   *CheckpointRef    `json:"checkpoint,omitempty"`
	Estimated    bool              `json:"estimated,omitempty"` // some of Usage is an estimate, because the call broke or was cancelled
	Routes       []Route           `json:"routes,omitempty"`    // for a message or spend: the router attempts that led to it
}

// TornError reports that a session log ends in the middle of an entry, as it does after the process
// was killed.
type TornError struct {
	Offset int64 // end of the last whole entry
	Bytes  int64 // number of bytes after it
}

// Error describes the torn end.
func (e *TornError) Error() string {
	return fmt.Sprintf("agent: session log: the last entry is cut off: %d bytes after offset %d are ignored", e.Bytes, e.Offset)
}

// ReadEntries reads a session log. A torn last line is yielded as a *[TornError] after the last
// whole entry; damage before the end is an error that names the line.
func ReadEntries(r io.Reader) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		br := bufio.NewReaderSize(r, 64<<10)
		var offset int64
		for line := 1; ; line++ {
			raw, err := br.ReadBytes('\n')
			if err != nil && err != io.EOF {
				yield(nil, fmt.Errorf("agent: read session log: %w", err))
				return
			}
			torn := err == io.EOF
			if torn && len(raw) == 0 {
				return
			}
			var e Entry
			bad := decodeEntry(raw, &e)
			// A last line that is not JSON, for example because a power cut left it full of zeros,
			// is torn. A line that is JSON of an unknown kind was written by a newer version, and
			// must not be cut off.
			if torn || (bad != nil && !json.Valid(raw) && atEOF(br)) {
				yield(nil, &TornError{Offset: offset, Bytes: int64(len(raw))})
				return
			}
			if bad != nil {
				yield(nil, fmt.Errorf("agent: read session log: line %d (offset %d): %w", line, offset, bad))
				return
			}
			offset += int64(len(raw))
			if !yield(&e, nil) {
				return
			}
		}
	}
}

func atEOF(br *bufio.Reader) bool {
	_, err := br.Peek(1)
	return errors.Is(err, io.EOF)
}

func decodeEntry(raw []byte, e *Entry) error {
	if err := json.Unmarshal(bytes.TrimSpace(raw), e); err != nil {
		return err
	}
	return e.check()
}

// check returns an error if an entry lacks a field that its type requires, so that no reader has to
// check for nil.
func (e *Entry) check() error {
	missing := false
	switch e.Type {
	case EntrySession:
		missing = e.Meta == nil
	case EntryMessage:
		missing = e.Message == nil
	case EntryCall:
		missing = e.Call == nil
	case EntryResult:
		missing = e.Result == nil
	case EntryRedaction:
		missing = len(e.Redactions) == 0
	case EntryPlan:
		missing = e.Plan == nil
	case EntryGrant:
		missing = e.Grant == nil
	case EntryCheckpoint, EntryUndo, EntryRedo:
		missing = e.Checkpoint == nil
	case EntryCompaction, EntryResults, EntryTodos, EntrySpend:
	default:
		return fmt.Errorf("unknown entry type %q; the log was written by a newer version", e.Type)
	}
	if missing {
		return fmt.Errorf("entry of type %q lacks its content", e.Type)
	}
	return nil
}
