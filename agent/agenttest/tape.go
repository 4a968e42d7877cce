package agenttest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// tape is a JSONL file that is written one line at a time.
type tape struct {
	mu   sync.Mutex
	file *os.File
	err  error
}

// newTape creates the file. It is an error if the file exists: a recording is never overwritten.
func newTape(path string) (*tape, error) {
	f, err := regular.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("agenttest: record: %s exists; delete it to record again: %w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("agenttest: record: %w", err)
	}
	return &tape{file: f}, nil
}

// write appends one entry. The first error is kept for close.
func (t *tape) write(entry any) {
	line, err := marshalLine(entry)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil && t.err == nil {
		_, err = t.file.Write(line)
	}
	if t.err == nil && err != nil {
		t.err = fmt.Errorf("agenttest: record: %w", err)
	}
}

func (t *tape) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.err, t.file.Close())
}

func marshalLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// readTape reads the entries of a file. If the last line was cut off while it was written, it is
// left out and torn is true.
func readTape[T any](path string) (entries []T, torn bool, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, false, fmt.Errorf("agenttest: replay: %w", err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return entries, len(line) > 0, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("agenttest: replay %s: %w", path, err)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e T
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, false, fmt.Errorf("agenttest: replay %s: line %d: %w", path, n, err)
		}
		entries = append(entries, e)
	}
}
