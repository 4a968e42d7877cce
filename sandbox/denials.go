package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Denial is something that a command tried and a wall refused, as the kernel or the egress proxy
// saw it; nothing is guessed from output.
type Denial struct {
	// Call is the system call, such as "connect", or the request of a proxy.
	Call string `json:"call"`
	// Path is the file concerned, empty if none.
	Path string `json:"path,omitempty"`
	// Host is the address or name concerned, as "host:port", empty if none.
	Host string `json:"host,omitempty"`
	// Errno is the error that the command got, or zero if it was refused in another way.
	Errno syscall.Errno `json:"errno,omitempty"`
	// Wall is the wall that refused, one of the Wall constants.
	Wall string `json:"wall"`
	// Rule describes in words what is refused and by what.
	Rule string `json:"rule"`
	// Grant is the smallest change by the host that would allow it, such as `Config.Writable:
	// "/srv/data"`. It is empty if it should not be allowed.
	Grant string `json:"grant,omitempty"`
	// Count is the number of times that this was refused.
	Count int `json:"count"`
}

// String returns the denial on one line, for people and models.
func (d Denial) String() string {
	var b strings.Builder
	b.WriteString(d.Call)
	for _, what := range []string{d.Path, d.Host} {
		if what != "" {
			fmt.Fprintf(&b, " %q", what)
		}
	}
	if d.Errno != 0 {
		fmt.Fprintf(&b, ": %v", d.Errno)
	}
	fmt.Fprintf(&b, " (%s: %s", d.Wall, d.Rule)
	if d.Count > 1 {
		fmt.Fprintf(&b, "; %d times", d.Count)
	}
	b.WriteByte(')')
	if d.Grant != "" {
		b.WriteString("; to allow: " + d.Grant)
	}
	return b.String()
}

// maxDenials bounds the different denials kept for one command. Further calls are still refused,
// but not listed.
const maxDenials = 64

// maxDenialText bounds a path or host in a denial.
const maxDenialText = 4096

// denials is a bounded list in which equal entries are counted.
type denials struct {
	list []Denial
}

// add adds d, or counts it if the same was refused before.
func (l *denials) add(d Denial) {
	d.Path, d.Host = clip(d.Path, maxDenialText), clip(d.Host, maxDenialText)
	d.Count = max(d.Count, 1)
	for i := range l.list {
		same := l.list[i]
		same.Count = d.Count
		if same == d {
			l.list[i].Count += d.Count
			return
		}
	}
	if len(l.list) < maxDenials {
		l.list = append(l.list, d)
	}
}

func clip(s string, most int) string {
	if len(s) > most {
		return s[:most]
	}
	return s
}

// wall lists what commands cannot change in a workspace in place.
type wall struct {
	dir   string   // the workspace
	paths []string // read-only paths in it, relative, with forward slashes; "." is all of it
}

// over returns the path of w that contains abs, the most specific first. With around it may also be
// below abs.
func (w *wall) over(abs string, around bool) string {
	if !within(abs, w.dir) {
		return ""
	}
	found := ""
	for _, p := range w.paths {
		at := filepath.Join(w.dir, filepath.FromSlash(p))
		if (within(abs, at) || around && abs != w.dir && within(at, abs)) && len(p) > len(found) {
			found = p
		}
	}
	return found
}

// holds returns the path of w that has a file of this name, for commands that work in that
// directory.
func (w *wall) holds(name string) string {
	for _, p := range w.paths {
		if !filepath.IsLocal(name) || p == "." {
			continue
		}
		if _, err := os.Lstat(filepath.Join(w.dir, filepath.FromSlash(p), name)); err == nil {
			return p
		}
	}
	return ""
}

// grant returns the smallest change of Config that lets commands change a path of w.
func (w *wall) grant(p string) string {
	if p == "." {
		return "Config.ReadOnlyDir: false"
	}
	name := p
	if at := strings.LastIndex("/"+p, "/.git/"); at >= 0 && slices.Contains(gitParts, p[at:]) {
		name = p[at:]
	} else if path.Base(p) == ".git" {
		name = ".git"
	}
	return fmt.Sprintf("Config.Unprotect: %q", name)
}

// reason says why a path of w cannot be changed.
func (w *wall) reason(p string) string {
	if p == "." {
		return "the workspace is read-only"
	}
	return p + " is read-only, since programs of the host act on it later"
}

// correct sets the reason of denials of writes to w, and the grant that helps.
func (w *wall) correct(list []Denial) {
	if w == nil {
		return
	}
	for i := range list {
		d := &list[i]
		if d.Errno != syscall.EROFS {
			continue
		}
		if p := w.over(d.Path, false); p != "" {
			d.Rule, d.Grant = w.reason(p), w.grant(p)
		}
	}
}

// hint looks in the output of a command for a failed write to a wall.
type hint struct {
	wall *wall
	cwd  string

	mu    sync.Mutex
	begun map[Stream][]byte // the last line of each stream, which has not ended yet
	found string
}

// failures are the words of the errors, without the first letter, which programs write in either
// case: EROFS, and EBUSY for what a mount keeps in its place.
var failures = []string{"ead-only file system", "esource busy"}

const maxHintLine = 8 << 10

// see reads a piece of a stream.
func (h *hint) see(s Stream, p []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.found != "" {
		return
	}
	if h.begun == nil {
		h.begun = map[Stream][]byte{}
	}
	if len(h.begun[s]) > 0 {
		p = append(h.begun[s], p...)
	}
	end := bytes.LastIndexByte(p, '\n') + 1
	h.lines(p[:end])
	rest := p[end:]
	h.begun[s] = append([]byte(nil), rest[max(0, len(rest)-maxHintLine):]...)
}

func (h *hint) lines(text []byte) {
	if !failed(text) {
		return
	}
	for line := range bytes.Lines(text) {
		if h.found == "" && failed(line) && !bytes.Contains(line, []byte("warning:")) {
			h.found = h.line(string(line[:min(len(line), maxHintLine)]))
		}
	}
}

// failed reports whether a text has the words of an error. What git only warns of has not failed.
func failed(text []byte) bool {
	return slices.ContainsFunc(failures, func(words string) bool { return bytes.Contains(text, []byte(words)) })
}

// line returns the path of the wall that a message is about.
func (h *hint) line(line string) string {
	busy := strings.Contains(line, failures[1])
	if _, after, ok := strings.Cut(line, h.wall.dir+"/"); ok { // also with spaces and quotes in its name
		rel := strings.FieldsFunc(after, isMark)
		if len(rel) > 0 {
			if p := h.wall.over(filepath.Join(h.wall.dir, rel[0]), busy); p != "" {
				return p
			}
		}
	}
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return isMark(r) || r == ' ' || r == '=' }) {
		for _, base := range []string{h.cwd, h.wall.dir} {
			at := filepath.Clean(word)
			if !filepath.IsAbs(word) {
				at = filepath.Join(base, word)
			}
			if p := h.wall.over(at, busy); p != "" && (p != "." || !busy) {
				return p
			}
		}
		if p := h.wall.holds(word); p != "" {
			return p
		}
	}
	return ""
}

// isMark reports characters that stand around a path in a message.
func isMark(r rune) bool { return strings.ContainsRune("'\"`‘’“”(),:\r\n", r) }

// text returns the hint for Exit, or "".
func (h *hint) text() string {
	if h == nil {
		return ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, rest := range h.begun {
		if h.found == "" {
			h.lines(rest)
		}
	}
	if h.found == "" {
		return ""
	}
	return h.wall.reason(h.found) + "; to allow: " + h.wall.grant(h.found)
}
