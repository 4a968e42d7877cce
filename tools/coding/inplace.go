package coding

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// Most files are replaced by a rename. A file is written in place instead if a rename would change
// more than its content: if it has other names (hard links), if it is a mount point, if its
// directory cannot be written, or if its owner or its access list could not be kept. Before the
// first byte changes, a journal holds the old content; see journal.go.

// inPlace opens the file of a change for writing in place. It returns nil if that is not possible.
func (w opened) inPlace(t target) *os.File {
	f, err := regular.OpenIn(w.root, t.rel, os.O_WRONLY)
	if err != nil {
		return nil
	}
	if info, err := f.Stat(); err != nil || !os.SameFile(info, t.info) {
		f.Close()
		return nil
	}
	return f
}

// mustStay reports whether a failed attempt to replace a file by another one may succeed in place.
func mustStay(err error) bool {
	return errors.Is(err, fs.ErrPermission) || isReadOnlyFS(err) || isBusy(err)
}

// overwrite writes a staged change in place and adds a note on that to the transaction.
func (tx *transaction) overwrite(s *stagedChange, why string) error {
	w := tx.w
	f := w.inPlace(s.at)
	if f == nil {
		return errors.New("it cannot be opened for writing; nothing was changed")
	}
	defer f.Close()
	old := s.was
	if old == nil {
		var err error
		if old, _, err = w.readAll(s.at, int(s.at.info.Size())+1); err != nil {
			return err
		}
	}
	if err := w.replaceBytes(f, s.at.rel, old, s.data); err != nil {
		return err
	}
	s.applied, s.old = true, old
	if s.temp != "" {
		_ = w.root.Remove(s.temp)
		s.temp = ""
	}
	if info, err := f.Stat(); err == nil {
		if n := linkCount(info); n > 1 {
			why = fmt.Sprintf("the file has %d names (hard links), which stay one file", n)
		} else if linkCount(s.at.info) > 1 {
			return nil // a layer of an overlay: what had the other names is below it
		}
	}
	tx.notes = append(tx.notes, show.Path(s.at.rel)+" was written in place: "+why)
	return nil
}

// replaceBytes changes the content of an open file from old to data. If that fails it restores old,
// and if the process is killed the journal does.
func (w opened) replaceBytes(f *os.File, rel string, old, data []byte) error {
	j, err := w.openJournal(rel, old, data)
	if err != nil {
		return err
	}
	if err = w.step("journaled", rel); err == nil {
		err = w.writeOver(f, rel, data)
	}
	if err == nil {
		j.remove()
		return nil
	}
	if restored := writeOver(f, old); restored != nil {
		return fmt.Errorf("%w; the old content could not be restored: %w; it is in %s", show.Cause(err), show.Cause(restored), j.name)
	}
	j.remove()
	return show.Cause(err)
}

// writeOver writes data from the beginning of f and cuts what is behind it.
func writeOver(f *os.File, data []byte) error {
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	return errors.Join(f.Truncate(int64(len(data))), f.Sync())
}

// writeOver is the function of that name. With a fault hook it writes single bytes or small pieces,
// so that a test can stop after any of them.
func (w *Workspace) writeOver(f *os.File, rel string, data []byte) error {
	if w.fault == nil {
		return writeOver(f, data)
	}
	piece := max(1, len(data)/64)
	for at := 0; at < len(data); at += piece {
		if err := w.step("overwrite", rel); err != nil {
			return err
		}
		if _, err := f.WriteAt(data[at:min(at+piece, len(data))], int64(at)); err != nil {
			return err
		}
	}
	if err := w.step("truncate", rel); err != nil {
		return err
	}
	if err := f.Truncate(int64(len(data))); err != nil {
		return err
	}
	return w.step("sync", rel)
}

// restore undoes overwrite.
func (tx *transaction) restore(s *stagedChange) error {
	f := tx.w.inPlace(target{s.at.rel, s.at.info})
	if f == nil {
		return errors.New("it cannot be opened again")
	}
	defer f.Close()
	if bytes.Equal(s.old, s.data) {
		return nil
	}
	return tx.w.replaceBytes(f, s.at.rel, s.data, s.old)
}

// A notKept error names a property of a file that its replacement would not have.
type notKept struct{ what string }

func (e *notKept) Error() string { return "its " + e.what + " cannot be kept" }

// stayReason explains why a file is not replaced.
func stayReason(err error) string {
	if kept, ok := errors.AsType[*notKept](err); ok {
		return "otherwise " + kept.Error()
	}
	if isBusy(err) {
		return "it is a mount point"
	}
	return "its directory cannot be written"
}
