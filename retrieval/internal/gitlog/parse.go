package gitlog

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// logFormat makes git print the hash, parents, commit time and message, each followed by NUL.
// Changes follow in the raw format, also terminated by NUL.
const logFormat = "--format=%H%x00%P%x00%ct%x00%B%x00"

// rawCommit is a commit as it was read.
type rawCommit struct {
	id      string // raw bytes, not hex
	parents []string
	time    int64
	message string
	changes []rawChange
	// more is the number of changes that were not kept.
	more int
	// boundary marks a commit at the boundary of a shallow clone, which seems to add every file.
	boundary bool
	// unread marks a commit whose changes could not be read; changes is then empty.
	unread bool
}

// rawChange is a file that a commit changed.
type rawChange struct {
	path     string
	status   byte // A, M, D
	old, new string
}

const (
	// maxField limits the length of a message or a path; longer ones are cut.
	maxField = 1 << 20
	// maxRawChanges limits the changes examined in one commit.
	maxRawChanges = 50_000
	maxParents    = 1 << 10
)

var errLogFormat = errors.New("git's output cannot be understood")

// logParser parses the output of git log.
type logParser struct {
	r       *bufio.Reader
	hashLen int    // in raw bytes
	next    string // the hash of the next commit, if already read
	field   []byte
}

func newLogParser(r io.Reader, hashLen int) *logParser {
	return &logParser{r: bufio.NewReaderSize(r, 256<<10), hashLen: hashLen}
}

// Next returns the next commit, io.EOF after the last, and io.ErrUnexpectedEOF if the
// output ends within one.
func (p *logParser) Next() (*rawCommit, error) {
	id := p.next
	if id == "" {
		var err error
		if id, err = p.readID(); err != nil {
			return nil, err
		}
	}
	p.next = ""
	c := &rawCommit{id: id}
	if err := p.readHeader(c); err != nil {
		return nil, unexpected(err)
	}
	err := p.readChanges(c)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return c, nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readID skips the separators between commits, which differ between versions of git.
func (p *logParser) readID() (string, error) {
	for {
		f, err := p.readField()
		if err != nil {
			return "", err
		}
		f = bytes.TrimLeft(f, "\n")
		if len(f) > 0 {
			return p.parseID(f)
		}
	}
}

func (p *logParser) parseID(f []byte) (string, error) {
	if len(f) != 2*p.hashLen {
		return "", fmt.Errorf("%w: %.60q is no hash", errLogFormat, f)
	}
	id, err := hex.DecodeString(string(f))
	if err != nil {
		return "", fmt.Errorf("%w: %.60q is no hash", errLogFormat, f)
	}
	return string(id), nil
}

func (p *logParser) readHeader(c *rawCommit) error {
	parents, err := p.readField()
	if err != nil {
		return err
	}
	for f := range bytes.FieldsSeq(parents) {
		if len(c.parents) == maxParents {
			break
		}
		id, err := p.parseID(f)
		if err != nil {
			return err
		}
		c.parents = append(c.parents, id)
	}
	stamp, err := p.readField()
	if err != nil {
		return err
	}
	if c.time, err = strconv.ParseInt(string(stamp), 10, 64); err != nil {
		return fmt.Errorf("%w: %.60q is no time", errLogFormat, stamp)
	}
	message, err := p.readField()
	c.message = string(message)
	return err
}

// readChanges reads up to the hash of the next commit, or io.EOF.
func (p *logParser) readChanges(c *rawCommit) error {
	for {
		f, err := p.readField()
		if err != nil {
			return err
		}
		f = bytes.TrimLeft(f, "\n")
		if len(f) == 0 {
			continue
		}
		if f[0] != ':' {
			p.next, err = p.parseID(f)
			return err
		}
		change, keep, err := p.parseChange(string(f))
		if err != nil {
			return err
		}
		path, err := p.readField()
		if err != nil {
			return unexpected(err)
		}
		switch {
		case !keep || len(path) == 0 || len(path) > maxPath:
		case len(c.changes) == maxRawChanges:
			c.more++
		default:
			change.path = string(path)
			c.changes = append(c.changes, change)
		}
	}
}

// parseChange reads ":oldmode newmode oldhash newhash status".
func (p *logParser) parseChange(f string) (c rawChange, keep bool, err error) {
	parts := strings.Fields(f[1:])
	if len(parts) != 5 || len(parts[4]) == 0 {
		return c, false, fmt.Errorf("%w: %.60q is no change", errLogFormat, f)
	}
	c = rawChange{status: parts[4][0], old: parts[2], new: parts[3]}
	switch {
	case parts[0] == gitlink || parts[1] == gitlink:
		return c, false, nil // a submodule is not a file
	case c.status == 'T':
		c.status = 'M'
	case c.status != 'A' && c.status != 'D' && c.status != 'M':
		return c, false, nil
	}
	return c, true, nil
}

const gitlink = "160000"

// readField returns the text before the next NUL; it is valid until the next call. A last field
// without a NUL means that the output was cut off.
func (p *logParser) readField() ([]byte, error) {
	p.field = p.field[:0]
	for {
		part, err := p.r.ReadSlice(0)
		if err == nil && len(p.field) == 0 {
			return part[:len(part)-1], nil
		}
		if room := maxField - len(p.field); room > 0 {
			p.field = append(p.field, part[:min(len(part), room)]...)
		}
		switch {
		case err == nil:
			return bytes.TrimSuffix(p.field, []byte{0}), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(bytes.TrimLeft(p.field, "\n")) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}
