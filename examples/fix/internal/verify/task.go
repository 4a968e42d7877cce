package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// Task is a broken function, with the results of the package's own tests.
type Task struct {
	ID              string // stable and unique
	Module, Version string
	Pkg             string // import path
	File            string // relative to the package

	Function repair.Function // the broken function
	Kind     string          // kind of slip
	Line     int             // the broken line, counted from 1 at the function's first line
	Original string          // the right line, without indentation

	Failed  []string // failing tests
	Output  string   // output of the failing tests, limited to its beginning and end, at most maxTaskOutput bytes
	Ended   string   // how the tests ended early: "panic", "timeout", "exit" or ""
	Marks   []repair.Mark
	Names   []string        // names that Function may need but does not contain, see [repair.Names]
	Like    []string        // lines of other functions that are similar to lines of Function, see [repair.Names.Like]
	Buggy   int             // index of the function in Candidates; -1 if it is not there
	Ranking []repair.Ranked // the package's functions that may be at fault, best first, at most repair.MaxCandidates
}

const maxTaskOutput = 6 << 10

// shorten keeps the beginning and the end of a long output, so that a panic's message and stack and
// the last lines printed remain.
func shorten(out string) string {
	if len(out) <= maxTaskOutput {
		return out
	}
	const part = maxTaskOutput / 3
	return out[:2*part] + "\n...\n" + out[len(out)-part:]
}

// Shown returns the broken function as a candidate.
func (t *Task) Shown() repair.Ranked {
	return repair.Ranked{Function: t.Function, Marks: t.Marks, Names: t.Names, Like: t.Like}
}

// Report returns the result of run_tests as a model sees it with these functions as candidates.
func (t *Task) Report(functions []string) string {
	return repair.Report{Failed: t.Failed, Output: repair.Digest(t.Output, repair.DigestBudget), Functions: functions}.String()
}

// Lines is a file of JSON lines to which values are appended. If a crash leaves an incomplete last
// line, it is removed when the file is opened.
type Lines struct {
	mu sync.Mutex
	f  *os.File
}

// OpenLines opens or creates a file of JSON lines and calls each for every existing line.
func OpenLines(path string, each func(line []byte) error) (*Lines, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("verify: open lines: %w", err)
	}
	whole, err := scanLines(f, each)
	if err == nil {
		err = f.Truncate(whole)
	}
	if err == nil {
		_, err = f.Seek(whole, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("verify: open lines of %s: %w", path, err), f.Close())
	}
	return &Lines{f: f}, nil
}

// scanLines calls each for every complete line and returns the end of the last one.
func scanLines(r io.Reader, each func(line []byte) error) (int64, error) {
	var whole int64
	var rest []byte
	buf := make([]byte, 1<<20)
	for {
		n, err := r.Read(buf)
		rest = append(rest, buf[:n]...)
		for {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				break
			}
			if each != nil {
				if err := each(rest[:i]); err != nil {
					return whole, err
				}
			}
			whole += int64(i) + 1
			rest = rest[i+1:]
		}
		rest = slices.Clone(rest)
		if errors.Is(err, io.EOF) {
			return whole, nil
		}
		if err != nil {
			return whole, err
		}
	}
}

// Append writes values in a single write, one per line.
func (l *Lines) Append(values ...any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, v := range values {
		if err := enc.Encode(v); err != nil {
			return fmt.Errorf("verify: append: %w", err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.f.Write(b.Bytes()); err != nil {
		return fmt.Errorf("verify: append: %w", err)
	}
	return nil
}

// Close closes the file.
func (l *Lines) Close() error { return l.f.Close() }

// ReadTasks calls each for every task in a file of JSON lines, until it returns an error.
func ReadTasks(path string, each func(*Task) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("verify: read tasks: %w", err)
	}
	defer f.Close()
	_, err = scanLines(f, func(line []byte) error {
		t := new(Task)
		if err := json.Unmarshal(line, t); err != nil {
			return fmt.Errorf("verify: read tasks of %s: %w", path, err)
		}
		return each(t)
	})
	return err
}
