package coding

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// A journal holds the old and the new content of a file while it is written in place. It is
// complete and on the disk before the file changes, and removed afterwards. If the process is
// killed in between, the next Open of the workspace finds it and restores the old content.
//
// It is in the root of the workspace, or in the user's cache directory if the root cannot be
// written.
type journal struct {
	root *os.Root
	name string // in root
	own  bool   // root is to be closed
}

// journalHead is the first line of a journal; the old and the new content follow.
type journalHead struct {
	Workspace string `json:"workspace"`
	Path      string `json:"path"`
	Old       int    `json:"old"` // bytes
	New       int    `json:"new"`
	Sum       string `json:"sum"` // SHA-256 of both contents
}

const (
	undoSuffix     = ".undo"
	maxJournal     = 1 << 30            // bytes of a journal that are read
	maxJournalHead = 64 << 10           // bytes of a journal besides the contents
	undoAge        = 7 * 24 * time.Hour // a journal that fits nothing any more is kept so long
)

func (w opened) openJournal(rel string, old, data []byte) (*journal, error) {
	if err := w.step("journal", rel); err != nil {
		return nil, err
	}
	sum := sha256.New()
	sum.Write(old)
	sum.Write(data)
	head, err := json.Marshal(journalHead{w.id, rel, len(old), len(data), hex.EncodeToString(sum.Sum(nil))})
	if err != nil {
		return nil, err
	}
	content := bytes.Join([][]byte{head, []byte("\n"), old, data}, nil)
	name := strings.TrimSuffix(path.Base(tempName(rel)), tempSuffix) + undoSuffix
	j := &journal{root: w.root, name: name}
	err = j.create(content)
	if err == nil {
		return j, nil
	}
	if !w.onHost {
		return nil, noJournal(err)
	}
	if j.root, err = cacheRoot(true); err == nil {
		j.own = true
		if err = j.create(content); err == nil {
			return j, nil
		}
		j.root.Close()
	}
	return nil, noJournal(err)
}

func noJournal(err error) error {
	return fmt.Errorf("there is no place for a copy of the old content, in case of a crash: %w; nothing was changed", show.Cause(err))
}

// cacheRoot opens the directory for journals outside of workspaces.
func cacheRoot(create bool) (*os.Root, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "luthier", "undo")
	if create {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return regular.OpenRoot(dir)
}

func (j *journal) create(content []byte) error {
	f, err := j.root.OpenFile(j.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close(), syncDir(j.root)); err != nil {
		_ = j.root.Remove(j.name)
	}
	return err
}

// syncDir makes the names in a directory durable, where the system can do that.
func syncDir(root *os.Root) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}

func (j *journal) remove() {
	_ = j.root.Remove(j.name)
	if j.own {
		j.root.Close()
	}
}

// recover restores the files whose writing in place was interrupted. A problem with that does not
// keep the workspace from opening: the journal stays for the next time.
func (w opened) recover() {
	w.recoverFrom(w.root)
	if !w.onHost {
		return
	}
	if root, err := cacheRoot(false); err == nil {
		w.recoverFrom(root)
		root.Close()
	}
}

func (w opened) recoverFrom(root *os.Root) {
	if len(journals(root)) == 0 {
		return
	}
	unlock, err := w.lockTop(context.Background()) // whoever is writing in place now holds this lock
	if err != nil {
		return // the journals stay for the next time
	}
	defer unlock()
	for _, name := range journals(root) {
		head, old, data, err := w.readJournal(root, name)
		switch {
		case err != nil:
			if info, err := root.Lstat(name); err == nil && time.Since(info.ModTime()) > tempAge {
				_ = root.Remove(name) // it was never complete, so the file was not touched
			}
		case head.Workspace != w.id: // of another one, or not from here
		case w.undo(head.Path, old, data):
			_ = root.Remove(name)
		default:
			if info, err := root.Lstat(name); err == nil && time.Since(info.ModTime()) > undoAge {
				_ = root.Remove(name)
			}
		}
	}
}

// journals returns the names of the journals in a directory.
func journals(root *os.Root) []string {
	d, err := root.Open(".")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	var out []string
	for _, n := range names {
		if isTempName(n) && strings.HasSuffix(n, undoSuffix) {
			out = append(out, n)
		}
	}
	return out
}

func (w opened) readJournal(root *os.Root, name string) (head journalHead, old, data []byte, err error) {
	info, err := root.Lstat(name)
	if err == nil && (!info.Mode().IsRegular() || !w.ours(info)) {
		err = errors.New("it is not a file of ours")
	}
	if err != nil {
		return head, nil, nil, err
	}
	all, err := regular.ReadIn(root, name, maxJournal)
	if err != nil {
		return head, nil, nil, err
	}
	line, rest, _ := bytes.Cut(all, []byte("\n"))
	if err := json.Unmarshal(line, &head); err != nil {
		return head, nil, nil, err
	}
	sum := sha256.Sum256(rest)
	if head.Old < 0 || head.New < 0 || head.Old+head.New != len(rest) || hex.EncodeToString(sum[:]) != head.Sum {
		return head, nil, nil, errors.New("it is not complete")
	}
	return head, rest[:head.Old], rest[head.Old:], nil
}

// ours reports whether a file may be a journal of this package, and not one that came with a
// repository. In a sandbox's tree it belongs to the user of the commands, who can write one too: it
// changes no other files than they can.
func (w opened) ours(info fs.FileInfo) bool {
	if w.onHost {
		return privateToUs(info)
	}
	return info.Mode().Perm() == 0o600 && info.Size() <= 2*int64(w.cfg.Limits.FileBytes)+maxJournalHead
}

// undo restores a file that is partly old and partly new. It reports whether nothing is left to do.
func (w opened) undo(rel string, old, data []byte) bool {
	t, err := w.resolve(rel)
	if err != nil || t.info == nil || t.rel != rel || checkWritable(t) != nil {
		return false
	}
	now, info, err := w.readAll(t, max(len(old), len(data)))
	if err != nil {
		return false
	}
	if bytes.Equal(now, old) || bytes.Equal(now, data) {
		return true
	}
	if !torn(now, old, data) {
		return false
	}
	f := w.inPlace(target{rel, info})
	if f == nil {
		return false
	}
	return errors.Join(writeOver(f, old), f.Close()) == nil
}

// torn reports whether each small block of now is from old or from data, or was never written.
func torn(now, old, data []byte) bool {
	const block = 512
	for at := 0; at < len(now); at += block {
		part := now[at:min(at+block, len(now))]
		if !mixed(part, tail(old, at), tail(data, at)) {
			return false
		}
	}
	return true
}

// mixed reports whether part is a beginning of data followed by the rest of old, or zeros.
func mixed(part, old, data []byte) bool {
	n := 0
	for n < len(part) && n < len(data) && part[n] == data[n] {
		n++
	}
	rest := part[n:]
	return len(part) <= len(old) && bytes.Equal(rest, old[n:len(part)]) || len(bytes.Trim(rest, "\x00")) == 0
}

func tail(b []byte, at int) []byte { return b[min(at, len(b)):] }
