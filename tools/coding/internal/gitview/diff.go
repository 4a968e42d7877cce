package gitview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// maxDiffFile is the largest file whose differences are shown line by line.
const maxDiffFile = 2 << 20

// diffText is a diff under construction: a summary of every file, and patches while there is room.
type diffText struct {
	g       *Repo
	room    int // bytes left for patches
	context int
	stat    []string
	patch   strings.Builder
	cut     int // files whose patch did not fit
	plus    int
	minus   int
}

// errStopDiff ends a diff that has become too long to be read.
var errStopDiff = errors.New("enough")

// maxDiffFiles is the maximum number of files in one diff.
const maxDiffFiles = 2000

// add adds one change to the diff.
func (d *diffText) add(ctx context.Context, c fileChange) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if len(d.stat) >= maxDiffFiles {
		return errStopDiff
	}
	before, after, note, err := d.sides(c)
	if err != nil {
		return err
	}
	if c.disk && c.oldPath == "" && c.from != nil && c.to != nil && note == "" && before == after && c.from.mode == c.to.mode {
		return nil // only its times had changed
	}
	var hunks string
	plus, minus := 0, 0
	if note == "" {
		if hunks, plus, minus, err = d.hunks(before, after); err != nil {
			return err
		}
	}
	d.plus, d.minus = d.plus+plus, d.minus+minus
	d.stat = append(d.stat, d.statLine(c, plus, minus, note))
	text := d.header(c, note) + hunks
	if len(text) > d.room {
		d.cut++
		return nil
	}
	d.room -= len(text)
	d.patch.WriteString(text)
	return nil
}

// sides returns the two texts of a change, or a note that says why they are not compared.
func (d *diffText) sides(c fileChange) (before, after, note string, err error) {
	if c.from != nil && c.from.mode == filemode.Submodule || c.to != nil && c.to.mode == filemode.Submodule {
		return "", "", "submodule", nil
	}
	var a, b []byte
	if a, note, err = d.blob(c.from); err != nil || note != "" {
		return "", "", note, err
	}
	if c.disk && c.to != nil {
		b, note, err = d.file(c)
	} else {
		b, note, err = d.blob(c.to)
	}
	if err != nil || note != "" {
		return "", "", note, err
	}
	if isBinary(a) || isBinary(b) {
		return "", "", "binary", nil
	}
	return string(a), string(b), "", nil
}

func isBinary(b []byte) bool { return bytes.IndexByte(b[:min(len(b), 8000)], 0) >= 0 }

func (d *diffText) blob(e *fileEntry) ([]byte, string, error) {
	if e == nil {
		return nil, "", nil
	}
	blob, err := d.g.r.BlobObject(e.hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, "content is not in this clone" + d.g.shallowHint(), nil
	}
	if err != nil {
		return nil, "", err
	}
	if blob.Size > maxDiffFile {
		return nil, "too large to compare, " + show.Size(blob.Size), nil
	}
	r, err := blob.Reader()
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return data, "", err
}

func (d *diffText) file(c fileChange) ([]byte, string, error) {
	rel := d.g.local(c.path)
	if c.to.mode == filemode.Symlink {
		dest, err := d.g.cfg.Root.Readlink(rel)
		return []byte(dest), "", err
	}
	info, err := d.g.cfg.Root.Lstat(rel)
	if err != nil {
		return nil, show.Cause(err).Error(), nil
	}
	if info.Size() > maxDiffFile {
		return nil, "too large to compare, " + show.Size(info.Size()), nil
	}
	data, err := d.g.cfg.Files.ReadAll(rel, info, maxDiffFile)
	if err != nil {
		return nil, err.Error(), nil
	}
	// Compare what git would store: if git normalises the line endings of a file, it differs only
	// if the text does.
	if d.g.normalizesLines() && c.from != nil {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	return data, "", nil
}

func (d *diffText) hunks(before, after string) (text string, plus, minus int, err error) {
	edits := udiff.Lines(before, after)
	u, err := udiff.ToUnifiedDiff("a", "b", before, edits, d.context)
	if err != nil {
		return "", 0, 0, err
	}
	for _, h := range u.Hunks {
		for _, l := range h.Lines {
			switch l.Kind {
			case udiff.Insert:
				plus++
			case udiff.Delete:
				minus++
			}
		}
	}
	text = u.String()
	if i := strings.Index(text, "@@"); i >= 0 {
		text = text[i:] // the header already has the names
	}
	return text, plus, minus, nil
}

// header returns git's extended header, so that git apply accepts the patch.
func (d *diffText) header(c fileChange, note string) string {
	var b strings.Builder
	newPath := d.g.local(c.path)
	oldPath := newPath
	if c.oldPath != "" {
		oldPath = d.g.local(c.oldPath)
	}
	fmt.Fprintf(&b, "diff --git %s %s\n", gitQuote("a/"+oldPath), gitQuote("b/"+newPath))
	from, to := gitQuote("a/"+oldPath), gitQuote("b/"+newPath)
	switch {
	case c.from == nil:
		fmt.Fprintf(&b, "new file mode %s\n", modeText(c.to.mode))
		from = "/dev/null"
	case c.to == nil:
		fmt.Fprintf(&b, "deleted file mode %s\n", modeText(c.from.mode))
		to = "/dev/null"
	case c.from.mode != c.to.mode:
		fmt.Fprintf(&b, "old mode %s\nnew mode %s\n", modeText(c.from.mode), modeText(c.to.mode))
	}
	if c.oldPath != "" {
		fmt.Fprintf(&b, "rename from %s\nrename to %s\n", gitQuote(oldPath), gitQuote(newPath))
	}
	if note != "" {
		fmt.Fprintf(&b, "(%s)\n", note)
		return b.String()
	}
	if c.to == nil || c.from == nil || c.from.hash != c.to.hash {
		fmt.Fprintf(&b, "--- %s\n+++ %s\n", from, to)
	}
	return b.String()
}

func modeText(m filemode.FileMode) string { return fmt.Sprintf("%06o", uint32(m)) }

// gitQuote quotes a path as git does with core.quotePath off: only if a line could be misread.
func gitQuote(p string) string {
	if !strings.ContainsFunc(p, func(r rune) bool { return r < 0x20 || r == '"' || r == '\\' || r == 0x7f }) {
		return p
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < 0x20 || c == 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func (d *diffText) statLine(c fileChange, plus, minus int, note string) string {
	name := show.Path(d.g.local(c.path))
	if c.oldPath != "" {
		name = show.Path(d.g.local(c.oldPath)) + " => " + name
	}
	if note != "" {
		return fmt.Sprintf("%c %s (%s)", c.letter(), name, note)
	}
	return fmt.Sprintf("%c %s +%d -%d", c.letter(), name, plus, minus)
}

// text returns the summary, followed by the patches unless statOnly is set.
func (d *diffText) text(statOnly bool) string {
	if len(d.stat) == 0 {
		return "No differences."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d files changed, %d insertions, %d deletions\n", len(d.stat), d.plus, d.minus)
	shown := d.stat[:min(len(d.stat), 200)]
	b.WriteString(strings.Join(shown, "\n") + "\n")
	if n := len(d.stat) - len(shown); n > 0 {
		fmt.Fprintf(&b, "... and %d more files\n", n)
	}
	if statOnly {
		return strings.TrimRight(b.String(), "\n")
	}
	b.WriteString("\n" + strings.ToValidUTF8(d.patch.String(), "\uFFFD"))
	if d.cut > 0 {
		fmt.Fprintf(&b, "\n[the patches of %d files found no room here; pass path to see them one at a time]\n", d.cut)
	}
	return strings.TrimRight(b.String(), "\n")
}

// treeChanges lists the differences between two trees below a path, with renames detected. Either
// tree may be nil.
func (g *Repo) treeChanges(ctx context.Context, from, to *object.Tree, under string) ([]fileChange, error) {
	changes, err := object.DiffTreeWithOptions(ctx, from, to, nil)
	if err != nil {
		return nil, err
	}
	var out []fileChange
	var tree *object.Tree
	for _, c := range changes {
		gc := fileChange{path: c.To.Name}
		if c.From.Name != "" {
			gc.from = &fileEntry{c.From.TreeEntry.Hash, c.From.TreeEntry.Mode}
			tree = c.From.Tree
		}
		if c.To.Name != "" {
			gc.to = &fileEntry{c.To.TreeEntry.Hash, c.To.TreeEntry.Mode}
			tree = c.To.Tree
		} else {
			gc.path = c.From.Name
		}
		if below(gc.path, under) {
			out = append(out, gc)
		}
	}
	slices.SortFunc(out, func(a, b fileChange) int { return strings.Compare(a.path, b.path) })
	return g.renames(out, tree), nil
}

// workChanges lists the differences between a tree and the work tree. If tree is nil, it compares
// the index with the work tree.
func (g *Repo) workChanges(ctx context.Context, tree *object.Tree, under string) ([]fileChange, error) {
	idx, err := g.r.Storer.Index()
	if err != nil {
		return nil, fmt.Errorf("the index cannot be read: %w; use git diff with shell", err)
	}
	st := &workStatus{}
	if err := g.unstaged(ctx, idx, under, st); err != nil {
		return nil, err
	}
	if tree == nil {
		return st.unstaged, nil
	}
	staged, err := g.againstIndex(tree, idx, under)
	if err != nil {
		return nil, err
	}
	by := map[string]fileChange{}
	for _, c := range staged {
		by[c.path] = c
	}
	for _, c := range st.unstaged {
		if s, ok := by[c.path]; ok {
			c.from, c.oldPath = s.from, s.oldPath
		}
		if c.from == nil && c.to == nil {
			delete(by, c.path) // added to the index and then deleted again
			continue
		}
		by[c.path] = c
	}
	var out []fileChange
	for _, c := range by {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b fileChange) int { return strings.Compare(a.path, b.path) })
	return out, nil
}
