// Package patch writes changes in git diff format.
package patch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/luthier-dev/luthier/sandbox/internal/review"
	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

const (
	// maxText is the largest file that is compared line by line.
	maxText = 4 << 20
	// maxPatched is the largest file that is included in a patch.
	maxPatched = 64 << 20
)

// blob is one side of a file in a patch; nil means that the file does not exist there.
type blob struct {
	mode string
	text []byte
	hash string
	big  bool // not read
}

const noBlob = "0000000000000000000000000000000000000000"

// Write writes the changes in git diff format. If apply is set, binary contents are written too,
// and what git would refuse is left out.
func Write(ctx context.Context, w io.Writer, pairs []tree.Pair, apply bool) error {
	b := bufio.NewWriter(w)
	var where review.Paths
	for _, p := range pairs {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if apply && where.InGit(p.Path()) {
			continue
		}
		was, now, err := blobsOf(p, apply)
		if !apply && errors.Is(err, fs.ErrPermission) {
			fmt.Fprintf(b, "Unreadable file %s\n", quoteName("", p.Path()))
			continue
		}
		if err != nil {
			return fmt.Errorf("%q: %w", p.Path(), err)
		}
		pw := patchWriter{b, apply}
		if was != nil && now != nil && was.mode[:2] != now.mode[:2] { // a file was replaced by a link, or a link by a file
			pw.file(p.Path(), was, nil)
			was = nil
		}
		if was != nil || now != nil {
			pw.file(p.Path(), was, now)
		} else if !apply && p.Now != nil && !tree.Copied(p.Now.Info) {
			fmt.Fprintf(b, "Special file %s: %v\n", quoteName("", p.Now.Rel), p.Now.Info.Mode())
		}
	}
	return b.Flush()
}

// blobsOf reads both sides.
func blobsOf(p tree.Pair, apply bool) (was, now *blob, err error) {
	if was, err = makeBlob(p.Was, apply); err == nil {
		now, err = makeBlob(p.Now, apply)
	}
	return was, now, err
}

// makeBlob reads a file or link; it returns nil for directories and special files.
func makeBlob(e *tree.Entry, apply bool) (*blob, error) {
	if e == nil {
		return nil, nil
	}
	var out blob
	switch m := e.Info.Mode(); {
	case m&fs.ModeSymlink != 0:
		target, err := e.Link()
		if err != nil {
			return nil, err
		}
		out.mode, out.text = "120000", []byte(target)
	case m.IsRegular():
		out.mode = "100644"
		if m.Perm()&0o100 != 0 {
			out.mode = "100755"
		}
		if e.Info.Size() > maxPatched {
			if apply {
				return nil, fmt.Errorf("%d bytes are too many for a patch; export to a directory", e.Info.Size())
			}
			out.big = true
			return &out, nil
		}
		var err error
		if out.text, err = tree.ReadEntry(e, maxPatched); err != nil {
			return nil, err
		}
	default:
		return nil, nil
	}
	out.hash = plumbing.ComputeHash(plumbing.BlobObject, out.text).String()
	return &out, nil
}

// binary reports whether git shows the content as binary, or whether it is too large to compare.
func (b *blob) binary() bool {
	return b != nil && (b.big || len(b.text) > maxText || bytes.IndexByte(b.text[:min(len(b.text), 8000)], 0) >= 0)
}

func (b *blob) content() string {
	if b == nil {
		return ""
	}
	return string(b.text)
}

func (b *blob) name() string {
	if b == nil || b.big {
		return noBlob
	}
	return b.hash
}

type patchWriter struct {
	*bufio.Writer
	apply bool
}

// file writes the part about one file.
func (w patchWriter) file(rel string, was, now *blob) {
	if was != nil && now != nil && was.mode == now.mode && !was.big && !now.big && was.hash == now.hash {
		return // a change that git does not record, such as 0644 to 0600
	}
	from, to := quoteName("a/", rel), quoteName("b/", rel)
	fmt.Fprintf(w, "diff --git %s %s\n", from, to)
	mode := ""
	switch {
	case was == nil:
		fmt.Fprintf(w, "new file mode %s\n", now.mode)
		from = "/dev/null"
	case now == nil:
		fmt.Fprintf(w, "deleted file mode %s\n", was.mode)
		to = "/dev/null"
	case was.mode != now.mode:
		fmt.Fprintf(w, "old mode %s\nnew mode %s\n", was.mode, now.mode)
	default:
		mode = " " + now.mode
	}
	if was.name() == now.name() && was != nil && !was.big {
		return
	}
	fmt.Fprintf(w, "index %s..%s%s\n", was.name(), now.name(), mode)
	switch {
	case (was.binary() || now.binary()) && w.apply:
		w.WriteString("GIT binary patch\n")
		writeBinary(w, []byte(now.content()))
		writeBinary(w, []byte(was.content()))
	case was.binary() || now.binary():
		fmt.Fprintf(w, "Binary files %s and %s differ\n", from, to)
	default:
		w.hunks(from, to, was.content(), now.content())
	}
}

func (w patchWriter) hunks(from, to, was, now string) {
	text, err := udiff.ToUnified("a", "b", was, udiff.Lines(was, now), udiff.DefaultContextLines)
	if err != nil || text == "" {
		return // cannot happen: the edits are of these texts
	}
	_, text, _ = strings.Cut(text, "\n+++ b\n")
	fmt.Fprintf(w, "--- %s\n+++ %s\n%s", from, to, text)
}

// quoteName writes a path as git does, in quotes if it contains anything unusual.
func quoteName(prefix, rel string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+,=@%:~#"
	if strings.Trim(rel, plain) == "" {
		return prefix + rel
	}
	var b strings.Builder
	b.WriteString(`"` + prefix)
	for i := range len(rel) {
		switch c := rel[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
