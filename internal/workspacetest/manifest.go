package workspacetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// A manifest describes the entries of a tree, one a line, in lexical order of their paths:
//
//	f 644 calc/calc.go 5f2a…
//	l docs/code -> ../calc
//	d 750 private
//
// The kind is f, d, l, or the mode's text for anything else. Of git's index only the names count,
// since it records times and inodes; see [look].
type manifest []string

// line formats an entry. Modes of links differ between file systems and mean nothing.
func line(kind, perm, name, rest string) string {
	if kind == "l" {
		return fmt.Sprintf("l %s -> %s", name, rest)
	}
	if kind == "d" {
		return fmt.Sprintf("d %s %s", perm, name)
	}
	if name == ".git/index" {
		rest = "(index)"
	}
	return fmt.Sprintf("%s %s %s %s", kind, perm, name, rest)
}

// viewManifest describes what root holds.
func viewManifest(root *os.Root) (manifest, error) {
	var m manifest
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		l, err := entry(root, name)
		m = append(m, l)
		return err
	})
	slices.SortFunc(m, byPath)
	return m, err
}

func entry(root *os.Root, name string) (string, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return "", err
	}
	perm := fmt.Sprintf("%o", info.Mode().Perm())
	switch {
	case info.IsDir():
		return line("d", perm, name, ""), nil
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := root.Readlink(name)
		return line("l", "", name, to), err
	case info.Mode().IsRegular():
		f, err := root.Open(name)
		if err != nil {
			return "", err
		}
		sum, err := hash(f)
		return line("f", perm, name, sum), errors.Join(err, f.Close())
	}
	return line(info.Mode().Type().String(), perm, name, ""), nil
}

func hash(r io.Reader) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, r)
	return hex.EncodeToString(h.Sum(nil)), err
}

// byPath orders lines by the path in them.
func byPath(a, b string) int { return strings.Compare(pathOf(a), pathOf(b)) }

func pathOf(l string) string {
	kind, rest, _ := strings.Cut(l, " ")
	if kind == "l" {
		name, _, _ := strings.Cut(rest, " -> ")
		return name
	}
	_, rest, _ = strings.Cut(rest, " ")
	if kind == "d" {
		return rest
	}
	return rest[:max(0, strings.LastIndexByte(rest, ' '))]
}

// look prints the entries of the working directory, an empty line, the hashes of the files, an
// empty line, and git's index, references and commits.
const look = `set -e
id -u
find . -printf '%y\t%m\t%U\t%P\t%l\n'
echo
find . -type f -exec sha256sum {} +
echo
git ls-files -s
git for-each-ref
git symbolic-ref HEAD
git log --format=fuller`

// A seen tree is the workspace as commands see it.
type seen struct {
	Tree   manifest // as viewManifest describes it
	Others []string // paths that belong to another user than the one that commands run as
	Git    []string // git's index, references and commits
}

// commandManifest describes the workspace as commands see it.
func commandManifest(ctx context.Context, w Workspace) (*seen, error) {
	out, err := w.Exec(ctx, look)
	if err != nil {
		return nil, err
	}
	return parseLook(out)
}

func parseLook(out string) (*seen, error) {
	uid, out, _ := strings.Cut(out, "\n")
	parts := strings.SplitN(out, "\n\n", 3)
	if len(parts) != 3 {
		return nil, fmt.Errorf("the output has %d parts, not 3:\n%s", len(parts), out)
	}
	sums := map[string]string{}
	for l := range strings.Lines(parts[1]) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(l, "\n"), "  ")
		sums[path.Clean(name)] = sum
	}
	s := &seen{}
	for l := range strings.Lines(parts[0]) {
		f := strings.Split(strings.TrimSuffix(l, "\n"), "\t")
		if len(f) != 5 {
			return nil, fmt.Errorf("entry %q has %d fields, not 5", l, len(f))
		}
		name, rest := path.Clean(f[3]), f[4]
		if f[0] == "f" {
			rest = sums[name]
		}
		s.Tree = append(s.Tree, line(f[0], f[1], name, rest))
		if f[2] != uid {
			s.Others = append(s.Others, name)
		}
	}
	slices.SortFunc(s.Tree, byPath)
	s.Git = strings.Split(strings.TrimSpace(parts[2]), "\n")
	return s, nil
}
