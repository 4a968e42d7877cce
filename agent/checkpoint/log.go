package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// The history is a chain of commits on one branch, one per event. Replaying the events shows which
// steps can be undone and redone. So there is only one record to write at a time, and no second one
// to keep in sync.

const branch = "refs/heads/checkpoints"

// The kinds of events. A snapshot or a restore adds a state at the current position and drops the
// states that could be redone; a move changes only the position.
const (
	kindSnapshot = "snapshot"
	kindRestore  = "restore"
	kindMove     = "move"
)

type event struct {
	id       plumbing.Hash
	tree     plumbing.Hash
	key      plumbing.Hash // equal for equal states
	kind     string
	position plumbing.Hash // for a move, the state to which it went
	label    string
	time     time.Time
	files    int
	notes    []string
}

// Checkpoint describes one recorded state.
type Checkpoint struct {
	ID      string // 40 hexadecimal digits
	Label   string
	Time    time.Time
	Files   int      // recorded files and links
	Notes   []string // files that were not recorded, with the reason: "path: reason"
	Restore bool     // made by a restore, after it, to record the result
	Current bool     // the state that Undo and Redo start from
}

// message encodes an event as a commit message: facts, a blank line, the label.
func (e *event) message() string {
	var b strings.Builder
	fmt.Fprintf(&b, "luthier checkpoint 1\nkind %s\nfiles %d\nkey %s\n", e.kind, e.files, e.key)
	if !e.position.IsZero() {
		fmt.Fprintf(&b, "position %s\n", e.position)
	}
	for _, n := range e.notes {
		fmt.Fprintf(&b, "note %q\n", n)
	}
	return b.String() + "\n" + e.label
}

func parseEvent(c *object.Commit) (event, error) {
	e := event{id: c.Hash, tree: c.TreeHash, time: c.Committer.When}
	facts, label, ok := strings.Cut(c.Message, "\n\n")
	e.label = label
	lines := strings.Split(facts, "\n")
	if !ok || lines[0] != "luthier checkpoint 1" {
		return e, fmt.Errorf("checkpoint: read history: commit %s is none of ours; the store was changed by another program", c.Hash)
	}
	for _, l := range lines[1:] {
		key, value, _ := strings.Cut(l, " ")
		var err error
		switch key {
		case "kind":
			e.kind = value
		case "files":
			e.files, err = strconv.Atoi(value)
		case "key":
			e.key = plumbing.NewHash(value)
		case "position":
			e.position = plumbing.NewHash(value)
		case "note":
			var n string
			n, err = strconv.Unquote(value)
			e.notes = append(e.notes, n)
		}
		if err != nil {
			return e, fmt.Errorf("checkpoint: read history: commit %s: %w; the store is damaged", c.Hash, err)
		}
	}
	return e, nil
}

// readLog updates s.log from the store, since another process may have added to it.
func (s *Store) readLog() error {
	ref, err := s.repo.Reference(branch) // also works if a git gc in the store has moved the reference
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		s.log, s.head = nil, plumbing.ZeroHash
		return nil
	}
	if err != nil {
		return fmt.Errorf("checkpoint: read history: %w", err)
	}
	head := ref.Hash()
	if head != s.head { // another process has written to the store, and may have added packs
		s.repo.Reindex()
		packs, _ := filepath.Glob(filepath.Join(s.dir, "objects", "pack", "*.idx"))
		s.packed = len(packs) > 0
	}
	var newer []event
	for h := head; h != s.head; {
		c, err := object.GetCommit(s.repo, h)
		if err != nil {
			return fmt.Errorf("checkpoint: read history: commit %s: %w; the store is damaged", h, err)
		}
		e, err := parseEvent(c)
		if err != nil {
			return err
		}
		newer = append(newer, e)
		if len(c.ParentHashes) == 0 {
			s.log = nil
			break
		}
		h = c.ParentHashes[0]
	}
	slices.Reverse(newer)
	s.log, s.head = append(s.log, newer...), head
	return nil
}

// append adds an event to the history. Everything that the event refers to must already be in the
// store; the event exists from the moment when the branch file is renamed.
func (s *Store) append(e event) (event, error) {
	if err := s.flush(); err != nil { // before the commit, which would otherwise be packed after it
		return e, err
	}
	e.time = s.opts.Now().Truncate(time.Second) // the precision that git keeps
	who := object.Signature{Name: "luthier", Email: "luthier@localhost", When: e.time}
	c := &object.Commit{Author: who, Committer: who, Message: e.message(), TreeHash: e.tree}
	if !s.head.IsZero() {
		c.ParentHashes = []plumbing.Hash{s.head}
	}
	var err error
	if e.id, err = s.putEncoded(c); err != nil {
		return e, err
	}
	if err := os.MkdirAll(filepath.Join(s.dir, "refs", "heads"), 0o755); err != nil {
		return e, fmt.Errorf("checkpoint: write history: %w", err)
	}
	if err := s.replace(filepath.FromSlash(branch), []byte(e.id.String()+"\n")); err != nil {
		return e, err
	}
	s.log, s.head = append(s.log, e), e.id
	return e, nil
}

// timeline replays the history. It returns the states that undo and redo step through, and the
// current position among them, or -1.
func (s *Store) timeline() (states []event, at int) {
	at = -1
	for _, e := range s.log {
		if e.kind != kindMove {
			states = append(states[:at+1], e)
			at = len(states) - 1
			continue
		}
		if i := slices.IndexFunc(states, func(x event) bool { return x.id == e.position }); i >= 0 {
			at = i
		}
	}
	return states, at
}

// find returns the state with the given id, which is either complete or a unique prefix of at least
// 7 digits.
func (s *Store) find(id string) (event, error) {
	var found []event
	for _, e := range s.log {
		if e.kind != kindMove && len(id) >= 7 && strings.HasPrefix(e.id.String(), id) {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		return event{}, fmt.Errorf("%w (%q names %d)", ErrUnknown, id, len(found))
	}
	return found[0], nil
}
