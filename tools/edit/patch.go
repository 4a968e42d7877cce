package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// FileChange is the change that a patch makes to one file.
type FileChange struct {
	// Path is the file to write or delete, clean and relative.
	Path string
	// Content is the complete new content; nil for a deletion.
	Content []byte
	// Delete reports that the file must be removed.
	Delete bool
	// MovedFrom is the former path of the file, which must be removed once Path is written; "" if
	// it was not moved.
	MovedFrom string
	// Added reports that the file is new: nothing may exist at Path when it is written.
	Added bool
	// Notes describe in words what was done beyond matching the exact text, for the model to read.
	Notes []string
}

// manyHunks is the number of hunks from which an index of the lines pays off.
const manyHunks = 8

// maxPatchErrors is the maximum number of faults of one patch that are reported together.
const maxPatchErrors = 10

// ApplyPatch applies a patch in the "*** Begin Patch" format to the files that read returns, in
// memory and as a transaction: it returns the changes of all files or, if anything at all does not
// fit, an error and no change. The caller writes the changes, ideally all or none.
//
// read receives clean relative paths and must fail with [fs.ErrNotExist] for a file that does not
// exist. Hunks are found by the same comparison of lines as in [Replace]. A hunk that fits in
// several places is an error, unless its @@ lines or the order of the hunks leave only one. A
// further section for a file changes what the sections before it made of the file. If several hunks
// fail, the error joins one [*Error] for each.
func ApplyPatch(read func(path string) ([]byte, error), patch string) ([]FileChange, error) {
	p, err := ParsePatch(patch)
	if err != nil {
		return nil, err
	}
	made := overlay{read: read, at: map[string]int{}, gone: map[string]bool{}}
	var errs []error
	for i := range p.Files {
		c, err := p.Files[i].apply(made.file)
		if errs = append(errs, err...); len(err) == 0 {
			made.add(c)
		}
	}
	if more := len(errs) - maxPatchErrors; more > 0 {
		errs = append(errs[:maxPatchErrors], fmt.Errorf("edit: %s: and %d more faults", opPatch, more))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return made.changes, nil
}

// overlay is the files as the sections so far have changed them.
type overlay struct {
	read    func(path string) ([]byte, error)
	changes []FileChange   // one for each file
	at      map[string]int // the change that writes or deletes a path
	gone    map[string]bool
}

// file reads a file as it is after the sections so far.
func (o *overlay) file(name string) ([]byte, error) {
	i, changed := o.at[name]
	switch {
	case o.gone[name]:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case changed:
		return o.changes[i].Content, nil
	}
	return o.read(name)
}

// add records the change of a section. It joins it to the change that earlier sections make to the
// same file.
func (o *overlay) add(c FileChange) {
	from := c.Path
	if c.MovedFrom != "" {
		from = c.MovedFrom
		o.gone[from] = true
	}
	o.gone[c.Path] = c.Delete
	i, changed := o.at[from]
	if !changed {
		o.at[c.Path] = len(o.changes)
		o.changes = append(o.changes, c)
		return
	}
	b := &o.changes[i]
	c.Notes = append(b.Notes, c.Notes...)
	switch {
	case b.Delete: // deleted and added: the file is replaced
		c.Added = false
	case b.Added:
		c.Added, c.MovedFrom = true, ""
	case b.MovedFrom != "":
		c.MovedFrom = b.MovedFrom
	}
	*b = c
	delete(o.at, from)
	o.at[c.Path] = i
}

// fault returns an error about the file.
func (f *PatchFile) fault(k Kind, line int, detail, advice string) *Error {
	return &Error{Op: opPatch, Kind: k, Path: f.Path, PatchLine: line, Detail: detail, Advice: advice}
}

// apply makes the changes of one section.
func (f *PatchFile) apply(read func(string) ([]byte, error)) (FileChange, []error) {
	if f.Op == AddFile {
		if err := f.mustNotExist(read, f.Path, f.line); err != nil {
			return FileChange{}, []error{err}
		}
		return FileChange{Path: f.Path, Content: []byte(addedText(f.content)), Added: true}, nil
	}
	data, err := read(f.Path)
	if err != nil {
		e := f.fault(Unreadable, f.line, "", "Check the path")
		e.Err = err
		if errors.Is(err, fs.ErrNotExist) {
			e = f.fault(Missing, f.line, "there is no such file", "Check the path, or use *** Add File to create it")
		}
		return FileChange{}, []error{e}
	}
	if f.Op == DeleteFile {
		return FileChange{Path: f.Path, Delete: true}, nil
	}
	c := FileChange{Path: f.Path}
	if f.MoveTo != "" {
		c.Path, c.MovedFrom = f.MoveTo, f.Path
		if err := f.mustNotExist(read, f.MoveTo, f.moveLine); err != nil {
			return FileChange{}, []error{err}
		}
	}
	text, notes, errs := f.edit(string(data))
	if len(errs) > 0 {
		return FileChange{}, errs
	}
	if text == string(data) && f.MoveTo == "" {
		return FileChange{}, []error{f.fault(NoOp, f.line, "the file has what the patch wants already", "Leave the section out; there is nothing to change")}
	}
	c.Content, c.Notes = []byte(text), notes
	return c, nil
}

func (f *PatchFile) mustNotExist(read func(string) ([]byte, error), name string, line int) error {
	_, err := read(name)
	switch {
	case err == nil:
		return f.fault(Exists, line, name+" is there already", "Use *** Update File to change it, or delete it first")
	case !errors.Is(err, fs.ErrNotExist):
		e := f.fault(Unreadable, line, "", "Check the path")
		e.Err = err
		return e
	}
	return nil
}

func addedText(ls []string) string {
	if len(ls) == 0 {
		return ""
	}
	return strings.Join(ls, lf) + lf
}

// edit applies the hunks to the text of the file.
func (f *PatchFile) edit(data string) (string, []string, []error) {
	body, mark := cutBOM(data)
	if onlyCR(body) {
		text, notes, errs := f.edit(mark + crToLF(body))
		return withCR(text), notes, errs
	}
	t := &target{body: body, lf: toLF(body)}
	if t.split(); len(f.hunks) > manyHunks {
		t.buildIndex()
	}
	var errs []error
	placed := make([]placement, len(f.hunks))
	strange := !strings.Contains(t.lf, "\r")
	for i := range f.hunks {
		if strange && f.hunks[i].hasCR() {
			errs = append(errs, f.atHunk(&Error{Kind: Malformed, Detail: "a line has a carriage return in it, which the file has nowhere", Advice: `End the lines of the patch with \n alone`}, i))
			continue
		}
		p, err := t.candidates(&f.hunks[i])
		if err != nil {
			errs = append(errs, f.atHunk(err, i))
			continue
		}
		placed[i] = p
	}
	if len(errs) > 0 {
		return "", nil, errs
	}
	order, bad, err := settle(placed)
	if err != nil {
		return "", nil, []error{f.atHunk(err, bad)}
	}
	return f.write(t, mark, placed, order)
}

// atHunk adds to an error which hunk it is about.
func (f *PatchFile) atHunk(err *Error, i int) error {
	err.Op, err.Path, err.Hunk, err.PatchLine = opPatch, f.Path, i+1, f.hunks[i].line
	return err
}

// write renders the hunks, whose places are settled, in the order of the file.
func (f *PatchFile) write(t *target, mark string, placed []placement, order []int) (string, []string, []error) {
	var out []line
	var notes []string
	at := 0
	for _, i := range order {
		p := &placed[i]
		text, err := t.renderHunk(p)
		if err != nil {
			return "", nil, []error{f.atHunk(err, i)}
		}
		start, end := p.core()
		out = append(append(out, t.lines[at:start]...), text...)
		at = end
		if p.note != "" {
			notes = append(notes, fmt.Sprintf("hunk %d %s", i+1, p.note))
		}
	}
	out = append(out, t.lines[at:]...)
	r := renderer{window: t.lines, eol: t.eol}
	if len(t.lines) == 0 {
		r.window = nil
	}
	var b strings.Builder
	b.WriteString(mark)
	joinLines(&b, r.closeEnds(out))
	return b.String(), notes, nil
}
