package edit

import (
	"slices"
	"strings"
)

// PatchOp is the operation of a section of a patch.
type PatchOp string

// The kinds of sections in a patch. An Update with a MoveTo moves a file.
const (
	AddFile    PatchOp = "add"
	UpdateFile PatchOp = "update"
	DeleteFile PatchOp = "delete"
)

// Patch is a parsed patch.
type Patch struct {
	// Files are the sections of the patch, in order. If several have the same path, each changes
	// what those before it made of the file.
	Files []PatchFile
}

// PatchFile is one section of a patch: the changes of one file.
type PatchFile struct {
	Op PatchOp
	// Path is the file, cleaned and relative; MoveTo is its new name, or "" if it keeps its name.
	Path, MoveTo string
	// Added and Removed are the numbers of lines added and removed.
	Added, Removed int

	line     int // of the header, from 1
	moveLine int
	content  []string
	hunks    []patchHunk
}

// patchHunk is one hunk of an update.
type patchHunk struct {
	line    int      // its first line in the patch, from 1
	anchors []string // the text of its @@ lines
	lines   []patchLine
	eof     bool // it ends with *** End of File
	plain   bool // its HTML entities were undone
}

// hasCR reports whether a line of the hunk has a carriage return in it.
func (h *patchHunk) hasCR() bool {
	return slices.ContainsFunc(h.lines, func(l patchLine) bool { return strings.IndexByte(l.text, '\r') >= 0 })
}

// patchLine is one line of a hunk; op is a space, '-' or '+'.
type patchLine struct {
	op   byte
	text string
}

// Reads lists the files that applying the patch reads, in order and each once. These are all files
// of the patch, since an added file must not exist.
func (p *Patch) Reads() []string {
	var out []string
	seen := map[string]bool{"": true}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	for _, f := range p.Files {
		add(f.Path)
		add(f.MoveTo)
	}
	return out
}

// Writes lists the files that applying the patch creates, changes or removes, in order.
func (p *Patch) Writes() []string { return p.Reads() }

const (
	beginMark  = "*** Begin Patch"
	endMark    = "*** End Patch"
	addMark    = "*** Add File: "
	updateMark = "*** Update File: "
	deleteMark = "*** Delete File: "
	moveMark   = "*** Move to: "
	eofMark    = "*** End of File"
)

// patchParser parses a patch line by line.
type patchParser struct {
	lines []string
	at    int // index of the next line
	patch Patch
	wrap  wrapper
}

// ParsePatch parses a patch and checks its paths, without looking at any file. A tool can use it to
// find what a patch would touch before applying it. Errors are [*Error] of kind [Malformed],
// [BadPath] or [NoOp] with the line of the patch.
//
// Code fences and a shell command around the envelope are tolerated (a here-document for
// apply_patch, in bash -c too). The paths of the patch begin in the directory that the command
// changes to. Any other command is refused. So is a patch without its end mark, because it may have
// been cut off.
func ParsePatch(patch string) (*Patch, error) {
	if onlyCR(patch) {
		patch = crToLF(patch)
	}
	p := &patchParser{lines: strings.Split(toLF(strings.TrimPrefix(patch, bom)), lf)}
	if err := p.envelope(); err != nil {
		return nil, err
	}
	for p.at < len(p.lines) {
		if err := p.section(); err != nil {
			return nil, err
		}
	}
	if len(p.patch.Files) == 0 {
		return nil, p.fault(Malformed, "the patch has no file sections", "Put *** Add File, *** Update File or *** Delete File sections between the marks")
	}
	if err := checkPaths(p.patch.Files); err != nil {
		return nil, err
	}
	return &p.patch, nil
}

// fault returns an error about the line that was read last.
func (p *patchParser) fault(k Kind, detail, advice string) *Error {
	return &Error{Op: opPatch, Kind: k, PatchLine: max(p.at, 1), Detail: detail, Advice: advice}
}

const opPatch = "apply patch"

// envelope finds the two marks and reduces the lines to those between them.
func (p *patchParser) envelope() error {
	begin, before := -1, ""
	for i, l := range p.lines {
		if head, ok := strings.CutSuffix(strings.TrimSpace(l), beginMark); ok && (head == "" || strings.HasSuffix(head, `"`) || strings.HasSuffix(head, "'")) {
			begin, before = i, head
			break
		}
	}
	advice := "Begin the patch with " + beginMark + " and end it with " + endMark
	if begin < 0 {
		p.at = 1
		return p.fault(Malformed, "there is no "+beginMark, advice)
	}
	p.wrap = parseWrapper(append(slices.Clone(p.lines[:begin]), before))
	if p.wrap.failed != "" {
		p.at = 1
		return p.fault(Malformed, "the patch does not start with "+beginMark+", and what is before it is not understood: "+visible(p.wrap.failed),
			advice+"; give paths relative to the workspace, and run other commands on their own")
	}
	p.at = begin + 1
	end := len(p.lines) - 1
	for end > p.at && !p.endsPatch(p.lines[end]) && p.wrap.ends(p.lines[end]) {
		end--
	}
	if end < p.at || !p.endsPatch(p.lines[end]) {
		p.at = len(p.lines)
		return p.fault(Malformed, "the patch does not end with "+endMark+", so it may have been cut off", "Send the whole patch again, with "+endMark+" as its last line")
	}
	body, ok := p.wrap.body(p.lines[p.at:end])
	if !ok {
		return p.fault(Malformed, "the patch is inside quotes of a shell command and has characters that the shell may change", advice+", without a command around it")
	}
	p.lines = append(p.lines[:p.at], body...)
	return nil
}

// endsPatch reports whether a line is the end mark, perhaps with the end of the quote that the
// patch is in.
func (p *patchParser) endsPatch(l string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(l), endMark)
	return ok && (rest == "" || p.wrap.quote != 0 && rest[0] == p.wrap.quote && p.wrap.ends(rest))
}

// section parses one file section.
func (p *patchParser) section() error {
	head := strings.TrimSpace(p.lines[p.at])
	p.at++
	if head == "" {
		return nil
	}
	for _, m := range []struct {
		mark string
		op   PatchOp
		read func(*PatchFile) error
	}{{addMark, AddFile, p.addition}, {updateMark, UpdateFile, p.update}, {deleteMark, DeleteFile, p.deletion}} {
		name, ok := strings.CutPrefix(head, m.mark)
		if !ok {
			continue
		}
		f := PatchFile{Op: m.op, Path: p.wrap.under(strings.TrimSpace(name)), line: p.at}
		if err := m.read(&f); err != nil {
			return withPath(err, f.Path)
		}
		p.patch.Files = append(p.patch.Files, f)
		return nil
	}
	return p.fault(Malformed, "this line is neither a section header nor part of a section: "+visible(head),
		"Begin each file with *** Add File: PATH, *** Update File: PATH or *** Delete File: PATH")
}

func withPath(err error, name string) error {
	if e, ok := err.(*Error); ok && e.Path == "" {
		e.Path = name
	}
	return err
}

// header reports whether the next line begins another section.
func (p *patchParser) header() bool {
	if p.at == len(p.lines) {
		return true
	}
	l := p.lines[p.at]
	for _, m := range []string{addMark, updateMark, deleteMark} {
		if strings.HasPrefix(l, m) {
			return true
		}
	}
	return false
}

// gap reports whether only blank lines are left in the section. If so, it skips them.
func (p *patchParser) gap() bool {
	start := p.at
	for p.at < len(p.lines) && p.lines[p.at] == "" {
		p.at++
	}
	if p.header() {
		return true
	}
	p.at = start
	return false
}

// skipBlank skips blank lines that lead to an @@ line.
func (p *patchParser) skipBlank() {
	i := p.at
	for i < len(p.lines) && blank(p.lines[i]) {
		i++
	}
	if i < len(p.lines) && strings.HasPrefix(p.lines[i], "@@") {
		p.at = i
	}
}

func (p *patchParser) addition(f *PatchFile) error {
	for !p.header() && !p.gap() {
		l := p.lines[p.at]
		p.at++
		text, ok := strings.CutPrefix(l, "+")
		if !ok {
			return p.fault(Malformed, "a line of an added file does not start with +: "+visible(l), "Start every line of the new file with +, blank lines too")
		}
		f.content = append(f.content, text)
	}
	f.Added = len(f.content)
	return nil
}

func (p *patchParser) deletion(*PatchFile) error {
	if !p.header() && !p.gap() {
		p.at++
		return p.fault(Malformed, "a deletion has text after its header: "+visible(p.lines[p.at-1]), "Put nothing between *** Delete File and the next header")
	}
	return nil
}

func (p *patchParser) update(f *PatchFile) error {
	if p.at < len(p.lines) {
		if to, ok := strings.CutPrefix(strings.TrimSpace(p.lines[p.at]), moveMark); ok {
			p.at++
			f.MoveTo, f.moveLine = p.wrap.under(strings.TrimSpace(to)), p.at
			if f.MoveTo == "" {
				return p.fault(Malformed, "*** Move to: names no file", "Give the new path")
			}
		}
	}
	for !p.header() && !p.gap() {
		p.skipBlank()
		h, err := p.hunk()
		if err != nil {
			if e, ok := err.(*Error); ok {
				e.Hunk = len(f.hunks) + 1
			}
			return err
		}
		f.hunks = append(f.hunks, h)
		for _, l := range h.lines {
			switch l.op {
			case '+':
				f.Added++
			case '-':
				f.Removed++
			}
		}
	}
	if len(f.hunks) == 0 && f.MoveTo == "" {
		return p.fault(Malformed, "an update has no hunks", "Give at least one hunk: @@, then lines that start with a space, - or +")
	}
	return nil
}

// hunk parses the @@ lines and the body of one hunk.
func (p *patchParser) hunk() (patchHunk, error) {
	h := patchHunk{line: p.at + 1}
	for !p.header() && strings.HasPrefix(p.lines[p.at], "@@") {
		if a := anchorText(p.lines[p.at]); a != "" {
			h.anchors = append(h.anchors, a)
		}
		p.at++
	}
	changes := false
	for !p.header() && !h.eof && !strings.HasPrefix(p.lines[p.at], "@@") {
		l := p.lines[p.at]
		p.at++
		switch {
		case strings.TrimSpace(l) == eofMark:
			h.eof = true
		case l == "":
			h.lines = append(h.lines, patchLine{op: ' '})
		case l[0] == ' ' || l[0] == '+' || l[0] == '-':
			h.lines = append(h.lines, patchLine{l[0], l[1:]})
			changes = changes || l[0] != ' '
		case strings.HasPrefix(l, `\ No newline`):
		default:
			return h, p.fault(Malformed, "a line of a hunk does not start with a space, - or +: "+visible(l),
				"Start context lines with one space before their own indentation, removed lines with - and new lines with +")
		}
	}
	if !changes {
		return h, p.fault(NoOp, "the hunk has no - or + lines", "Leave out hunks that change nothing")
	}
	if h.eof {
		return h, nil
	}
	for n := len(h.lines); n > 0 && h.lines[n-1] == (patchLine{op: ' '}) && p.lines[p.at-1] == ""; n-- {
		h.lines = h.lines[:n-1] // blank lines before the next header are layout, not context
		p.at--
	}
	return h, nil
}

// anchorText returns the text that an @@ line names. A header of a unified diff names nothing: its
// line numbers are unreliable, and the function that git puts after them is the one before the
// hunk.
func anchorText(l string) string {
	s := strings.TrimSpace(strings.TrimPrefix(l, "@@"))
	if strings.HasPrefix(s, "-") && strings.Contains(s, " +") && strings.Contains(s, "@@") {
		return ""
	}
	return strings.TrimSpace(strings.TrimSuffix(s, "@@"))
}
