package eval

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// blobReader reads contents by their hash from a single git process.
type blobReader struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	stop context.CancelFunc
}

// errNoBlob means that the repository lacks a content, as clones without large files do.
var errNoBlob = errors.New("the repository lacks it")

func newBlobReader(gitDir string) (*blobReader, error) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &blobReader{cmd: gitCommand(ctx, gitDir, "cat-file", "--batch"), stop: cancel}
	var err error
	var out io.ReadCloser
	if r.in, err = r.cmd.StdinPipe(); err == nil {
		if out, err = r.cmd.StdoutPipe(); err == nil {
			r.out = bufio.NewReaderSize(out, 64<<10)
			err = r.cmd.Start()
		}
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	return r, nil
}

func (r *blobReader) read(id string) ([]byte, error) {
	if _, err := io.WriteString(r.in, id+"\n"); err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	line, err := r.out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	f := strings.Fields(line)
	if len(f) == 2 && f[1] == "missing" {
		return nil, errNoBlob
	}
	if len(f) != 3 {
		return nil, fmt.Errorf("git cat-file: unknown answer %.80q", line)
	}
	size, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("git cat-file: unknown answer %.80q", line)
	}
	content, err := io.ReadAll(io.LimitReader(r.out, size))
	if err == nil {
		_, err = r.out.Discard(1) // the newline after it
	}
	if err != nil || int64(len(content)) != size {
		return nil, fmt.Errorf("git cat-file: content ends early: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	return content, nil
}

func (r *blobReader) close() error {
	if r == nil {
		return nil
	}
	_ = r.in.Close()
	r.stop()
	_ = r.cmd.Wait()
	return nil
}
