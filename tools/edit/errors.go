package edit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Kind is the reason why an edit was refused. Its text is stable and may be shown or logged.
type Kind string

// The reasons for refusing an edit. If an edit is refused, nothing is changed.
const (
	// NotFound: the old text does not occur in the file.
	NotFound Kind = "not found"
	// Ambiguous: the old text occurs in the file more than once; Error.Lines has every place.
	Ambiguous Kind = "ambiguous"
	// AlreadyApplied: the old text is gone and the new text is there.
	AlreadyApplied Kind = "already applied"
	// OverEscaped: the old text resembles the file only once its backslash escapes are undone,
	// which is not certain enough to act on.
	OverEscaped Kind = "over-escaped"
	// Elided: the old text has a "..." line that stands for lines left out.
	Elided Kind = "elided"
	// FileChanged: the old text was in the base that the model was shown but is no longer in the
	// file.
	FileChanged Kind = "file changed"
	// Conflict: the file was changed in the same lines that this edit changes.
	Conflict Kind = "conflict"
	// Indentation: the place is certain, but not the indentation that the new lines should have.
	Indentation Kind = "indentation unclear"
	// NoOp: the edit would not change the file.
	NoOp Kind = "no change"
	// Empty: there is no old text to look for.
	Empty Kind = "empty"
	// Malformed: the patch breaks the grammar; Error.PatchLine has the place.
	Malformed Kind = "malformed patch"
	// BadPath: a path of the patch is absolute, leaves the root, or names one file twice.
	BadPath Kind = "bad path"
	// Exists: the patch adds or moves to a file that is already there.
	Exists Kind = "file exists"
	// Missing: the patch changes, moves or deletes a file that is not there.
	Missing Kind = "file missing"
	// Unreadable: a file of the patch could not be read; Error.Err has the cause.
	Unreadable Kind = "file unreadable"
)

// Error is the refusal of one edit. Its text is written for a language model: it says what was
// looked for, what is there instead, and what to do next.
type Error struct {
	// Op is the operation: "replace", "merge" or "apply patch".
	Op string
	// Kind is the reason.
	Kind Kind
	// Path, Hunk and PatchLine are the position of the fault in a patch. Hunk and PatchLine count
	// from 1 and are 0 for other operations.
	Path      string
	Hunk      int
	PatchLine int
	// Lines are the line numbers (from 1) in the file that the refusal refers to: every candidate
	// of an ambiguous match, the lines of a conflict, the place where the new text already is.
	Lines []int
	// Near is the window of the file most similar to the old text, or nil if nothing is similar.
	Near *Near
	// Detail says what is wrong and Advice what to do, each in one sentence without a full stop.
	Detail, Advice string
	// Err is the cause, if there is one.
	Err error
}

// Near is the place in the file most similar to the old text, with the first line in which the two
// differ.
type Near struct {
	// Start and End are the first and last line (from 1) of the window.
	Start, End int
	// Line is the line of the file, and OldLine the line of the old text, where they first differ
	// (both from 1).
	Line, OldLine int
	// Have is that line of the file, and Want that of the old text.
	Have, Want string
}

// Error formats the whole refusal in a few lines.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("edit: ")
	b.WriteString(e.Op)
	b.WriteString(": ")
	if e.Path != "" {
		b.WriteString(e.Path)
		b.WriteString(": ")
	}
	if e.Hunk > 0 {
		fmt.Fprintf(&b, "hunk %d: ", e.Hunk)
	}
	if e.PatchLine > 0 {
		fmt.Fprintf(&b, "patch line %d: ", e.PatchLine)
	}
	b.WriteString(string(e.Kind))
	if e.Detail != "" {
		b.WriteString(": ")
		b.WriteString(e.Detail)
	}
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	if n := e.Near; n != nil {
		fmt.Fprintf(&b, "\nnearest text: %s; first difference at line %d (· is a space, → a tab)\n  file: %s\n  old:  %s",
			span(n.Start, n.End), n.Line, visible(n.Have), visible(n.Want))
	}
	if e.Advice != "" {
		b.WriteString("\n")
		b.WriteString(e.Advice)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the Kind of the first [Error] in err's tree, or "" when there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// span formats a range of lines.
func span(first, last int) string {
	if first >= last {
		return "line " + strconv.Itoa(first)
	}
	return fmt.Sprintf("lines %d-%d", first, last)
}

// maxListed is the maximum number of places named in one message.
const maxListed = 20

// places formats a list of line numbers.
func places(lines []int) string {
	if len(lines) == 1 {
		return "line " + strconv.Itoa(lines[0])
	}
	var b strings.Builder
	b.WriteString("lines ")
	for i, n := range lines {
		if i == maxListed {
			fmt.Fprintf(&b, " and %d more", len(lines)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// maxShown is the maximum length of a line quoted in a message.
const maxShown = 160

// visible makes white space and control characters in a line visible, and shortens it to fit into a
// message.
func visible(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == maxShown {
			b.WriteString("…")
			break
		}
		n++
		switch {
		case r == ' ':
			b.WriteRune('·')
		case r == '\t':
			b.WriteRune('→')
		case r < ' ' || r == 0x7f || foldable(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	if b.Len() == 0 {
		return "(empty line)"
	}
	return b.String()
}
