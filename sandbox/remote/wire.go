package remote

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// Limits on what is read from the other side.
const (
	maxMessage = 32 << 20  // bytes of JSON: the manifest of some 200,000 files
	maxReply   = 256 << 20 // bytes of JSON: the changes, findings and files of an export
	maxFrame   = 1 << 20
	maxWhole   = 512 << 10 // a frame that cannot be divided, as written
	maxChunk   = 64 << 10
	maxEntries = 500_000
	maxBlob    = 4 << 30
)

// entry is one path of a workspace.
type entry struct {
	Path string
	Kind byte   // 'f', 'd' or 'l'
	Perm uint32 // permission bits of a file or directory
	Time int64  // modification time of a file or directory, in nanoseconds since 1970
	Size int64
	Hash string // of a file's content: SHA-256 in hexadecimal
	Link string // target of a symbolic link
}

// wireEntry is the wire format of an entry.
type wireEntry struct {
	Path text   `json:"p"`
	Kind byte   `json:"k"`
	Perm uint32 `json:"m,omitempty"`
	Time int64  `json:"t,omitempty"`
	Size int64  `json:"s,omitempty"`
	Hash string `json:"h,omitempty"`
	Link text   `json:"l,omitempty"`
}

// MarshalJSON writes the entry with short names, since there are many entries.
func (e entry) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireEntry{text(e.Path), e.Kind, e.Perm, e.Time, e.Size, e.Hash, text(e.Link)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (e *entry) UnmarshalJSON(b []byte) error {
	var w wireEntry
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*e = entry{string(w.Path), w.Kind, w.Perm, w.Time, w.Size, w.Hash, string(w.Link)}
	return nil
}

// checkManifest rejects a list that would not make a tree below one directory.
func checkManifest(list []entry) error {
	if len(list) > maxEntries {
		return fmt.Errorf("%d files: at most %d", len(list), maxEntries)
	}
	kinds := make(map[string]byte, len(list))
	for _, e := range list {
		if err := checkEntry(e); err != nil {
			return err
		}
		if kinds[e.Path] != 0 {
			return fmt.Errorf("path %q is there twice", e.Path)
		}
		if dir := path.Dir(e.Path); dir != "." && kinds[dir] != 'd' {
			return fmt.Errorf("path %q comes without its directory", e.Path)
		}
		kinds[e.Path] = e.Kind
	}
	return nil
}

// checkEntry rejects entries with an invalid path or description.
func checkEntry(e entry) error {
	if !validPath(e.Path) {
		return fmt.Errorf("path %q", e.Path)
	}
	ok := false
	switch e.Kind {
	case 'd':
		ok = e.Hash == "" && e.Link == ""
	case 'f':
		ok = validHash(e.Hash) && e.Link == "" && e.Size >= 0 && e.Size <= maxBlob
	case 'l':
		ok = e.Link != "" && len(e.Link) < 4096 && !strings.Contains(e.Link, "\x00") && e.Hash == ""
	}
	if !ok || e.Perm > 0o777 {
		return fmt.Errorf("entry of %q", e.Path)
	}
	return nil
}

// validPath reports whether a path is below the top, in the form used on the wire.
func validPath(p string) bool {
	odd := "\x00"
	if runtime.GOOS == "windows" {
		odd += "\\:"
	}
	return p != "." && len(p) <= 4096 && fs.ValidPath(strings.ToValidUTF8(p, "?")) && !strings.ContainsAny(p, odd)
}

func validHash(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

func validID(s string) bool {
	return len(s) == 26 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// openRequest is a request for a sandbox.
type openRequest struct {
	Files []entry       `json:"files"`
	TTL   time.Duration `json:"ttl"`
}

type openReply struct {
	Dir       string            `json:"dir"`
	Isolation sandbox.Isolation `json:"isolation"`
	TTL       time.Duration     `json:"ttl"`
}

// startRequest is a request to start a command.
type startRequest struct {
	Args  []text `json:"args"`
	Dir   text   `json:"dir"`
	Env   []text `json:"env,omitempty"`
	Merge bool   `json:"merge,omitempty"`
}

type startReply struct {
	PID int `json:"pid"`
}

// outputRequest is a request to export something from a sandbox.
type outputRequest struct {
	Kind  string        `json:"kind"`
	Since sandbox.Point `json:"since,omitempty"` // of a diff
}

// The kinds of output.
const (
	outputDiff  = "diff"
	outputPatch = "patch"
	outputTree  = "tree"
)

type outputReply struct {
	Hash   string      `json:"hash,omitempty"` // of the text of a diff or patch
	Size   int64       `json:"size,omitempty"`
	Review *wireReview `json:"review,omitempty"` // of a patch or tree
	Error  *wireError  `json:"error,omitempty"`  // why there is no patch although there is a review
	Files  []entry     `json:"files,omitempty"`  // of a tree: the changed paths that exist after the changes
}

// ended is the last frame of a log.
type ended struct {
	sandbox.Ended
	Error *wireError `json:"error,omitempty"`
}

// A log is a sequence of frames: a kind, four bytes of length, and that many bytes.
const (
	frameStdout   = 1
	frameStderr   = 2
	frameEnd      = 3 // JSON of ended, or of callEnd; nothing follows
	frameProgress = 4 // text; this one and the others below are of calls
	frameQuestion = 5 // JSON of wireQuestion
	frameArtifact = 6 // JSON of wireArtifact
	frameResult   = 7 // a piece of the result
	frameCall     = 8 // the call's callName; nothing precedes

	frameHead = 5 // bytes
)

func appendFrame(b []byte, kind byte, data []byte) []byte {
	b = append(b, kind)
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	return append(b, data...)
}

// readFrame reads one frame into buf, which it may replace.
func readFrame(r io.Reader, buf []byte) (kind byte, data []byte, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, buf[:0], err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if head[0] < frameStdout || head[0] > frameCall || n > maxFrame {
		return 0, buf[:0], final{fmt.Errorf("frame of kind %d with %d bytes", head[0], n)}
	}
	if uint32(cap(buf)) < n {
		buf = make([]byte, n)
	}
	_, err = io.ReadFull(r, buf[:n])
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return head[0], buf[:n], err
}

// Errors that callers may test for with errors.Is, besides those of sandbox.
var (
	// ErrQuota means that the tenant has used up its quota.
	ErrQuota = errors.New("quota is used up")
	// ErrLost means that nobody knows how a command or call ended, or whether it ran: the server
	// was restarted meanwhile, cannot be reached, or the lease had expired.
	ErrLost = errors.New("it was lost")
	// ErrDenied means that the server does not accept the token or certificate.
	ErrDenied = errors.New("token or certificate is not accepted")
)

// kinds lists the errors that are preserved on the wire.
func kinds() map[string]error {
	return map[string]error{
		"quota": ErrQuota, "lost": ErrLost, "denied": ErrDenied, "closed": sandbox.ErrClosed, "floor": sandbox.ErrFloor, "in place": sandbox.ErrInPlace,
		"changed": ErrChanged, "no tools": ErrNoTools, "deadline": context.DeadlineExceeded, "canceled": context.Canceled,
		"busy": sandbox.ErrBusy, "too large": sandbox.ErrTooLarge, "conflict": sandbox.ErrConflict, "not found": exec.ErrNotFound, "ended": os.ErrProcessDone, "permission": fs.ErrPermission, "not exist": fs.ErrNotExist,
	}
}

// wireError is an error that works with errors.Is on the other side.
type wireError struct {
	Text  string   `json:"text"`
	Kinds []string `json:"is,omitempty"`
	Tool  bool     `json:"tool,omitempty"` // it is a ToolError
}

func toWire(err error) *wireError {
	if err == nil {
		return nil
	}
	var own *ToolError
	w := &wireError{Text: err.Error(), Tool: errors.As(err, &own)}
	for name, sentinel := range kinds() {
		if errors.Is(err, sentinel) {
			w.Kinds = append(w.Kinds, name)
		}
	}
	slices.Sort(w.Kinds)
	return w
}

func (w *wireError) Error() string { return w.Text }

// Is implements errors.Is.
func (w *wireError) Is(target error) bool {
	known := kinds()
	for _, k := range w.Kinds {
		if known[k] == target {
			return true
		}
	}
	return false
}

// decode reads one JSON value, without unknown fields and with nothing after it.
func decode(r io.Reader, v any) error {
	return decodeStrictly(json.NewDecoder(io.LimitReader(r, maxMessage)), v)
}

func decodeStrictly(d *json.Decoder, v any) error {
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}
