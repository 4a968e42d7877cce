package gitlog

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// repository holds the paths of a repository. Only plain data files are read here; the
// configuration is not, because it could name programs.
type repository struct {
	gitDir    string // of this work tree
	commonDir string // shared by all work trees
	workTree  string // empty if bare
	hashLen   int
	shallow   []string // commits in hex at which the history is cut off
}

var errNoRepository = errors.New("there is no git repository at or above it")

// locate finds the repository of a directory. gitDir, if not empty, is the repository or its work
// tree.
func locate(dir, gitDir string) (*repository, error) {
	r := &repository{}
	var err error
	if gitDir == "" {
		r.gitDir, r.workTree, err = discover(dir)
	} else {
		r.gitDir, err = named(gitDir)
	}
	if err != nil {
		return nil, err
	}
	if r.gitDir, err = filepath.Abs(r.gitDir); err != nil {
		return nil, err
	}
	r.commonDir = r.gitDir
	if b, err := readSmall(filepath.Join(r.gitDir, "commondir"), maxPath); err == nil {
		r.commonDir = under(r.gitDir, strings.TrimSpace(string(b)))
	}
	if fi, err := os.Stat(filepath.Join(r.commonDir, "objects")); err != nil || !fi.IsDir() {
		return nil, fmt.Errorf("%s has no objects: it is no git directory, or a damaged one", r.commonDir)
	}
	if b, err := readSmall(filepath.Join(r.commonDir, "shallow"), maxShallow); err == nil {
		r.shallow = hashes(string(b))
	}
	return r, nil
}

// named returns the repository that is in path, that path links to, or that is path itself.
func named(path string) (string, error) {
	for _, p := range []string{path, filepath.Join(path, ".git")} {
		fi, err := os.Stat(p)
		switch {
		case err == nil && fi.IsDir() && isGitDir(p):
			return p, nil
		case err == nil && fi.Mode().IsRegular():
			return readGitFile(p)
		}
	}
	return path, nil
}

// discover searches upwards for a repository, as git does.
func discover(dir string) (gitDir, workTree string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", "", err
	}
	// The directory may have been reached through a link, but its repository is above its real
	// location.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for {
		dotGit := filepath.Join(dir, ".git")
		fi, err := os.Stat(dotGit)
		switch {
		case err == nil && fi.IsDir() && isGitDir(dotGit):
			return dotGit, dir, nil
		case err == nil && fi.Mode().IsRegular():
			to, err := readGitFile(dotGit)
			return to, dir, err
		case isGitDir(dir):
			return dir, "", nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", "", errNoRepository
		}
		dir = up
	}
}

func isGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	for _, name := range []string{"objects", "commondir"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// readGitFile reads the file that replaces .git in linked work trees and submodules.
func readGitFile(path string) (string, error) {
	b, err := readSmall(path, maxPath)
	if err != nil {
		return "", err
	}
	to, ok := strings.CutPrefix(string(b), "gitdir:")
	if !ok {
		return "", fmt.Errorf("%s does not say where the repository is", path)
	}
	return under(filepath.Dir(path), strings.TrimSpace(to)), nil
}

func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

const (
	maxShallow    = 4 << 20
	maxPackedRefs = 256 << 20
	maxRefDepth   = 5
)

// readSmall reads a regular file.
func readSmall(path string, max int64) ([]byte, error) {
	return regular.Read(path, max)
}

func hashes(s string) []string {
	var out []string
	for line := range strings.Lines(s) {
		if h := strings.TrimSpace(line); isHash(h) {
			out = append(out, h)
		}
	}
	return out
}

func isHash(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	_, err := hex.DecodeString(s)
	return err == nil
}

var (
	errUnborn = errors.New("the branch has no commit yet")
	errNoRef  = errors.New("there is no such branch, tag or commit")
)

// resolveHead returns the hash that HEAD names.
func (r *repository) resolveHead() (string, error) {
	b, err := readSmall(filepath.Join(r.gitDir, "HEAD"), maxPath)
	if err != nil {
		return "", fmt.Errorf("HEAD cannot be read: %w", err)
	}
	h, err := r.follow(string(b), 0)
	if errors.Is(err, errNoRef) {
		if _, err := os.Stat(filepath.Join(r.commonDir, "reftable")); err == nil {
			return "", errors.New("references are kept in reftable format, which is not read: pass the head as a hash")
		}
		return "", errUnborn
	}
	return h, err
}

// resolve returns the hash of a branch or a tag.
func (r *repository) resolve(name string) (string, error) {
	for _, prefix := range []string{"", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"} {
		ref := prefix + name
		if !strings.HasPrefix(ref, "refs/") {
			continue
		}
		if h, err := r.ref(ref, 0); err == nil {
			return h, nil
		}
	}
	return "", errNoRef
}

// follow resolves the content of a reference.
func (r *repository) follow(content string, depth int) (string, error) {
	content = strings.TrimSpace(content)
	if to, ok := strings.CutPrefix(content, "ref:"); ok {
		return r.ref(strings.TrimSpace(to), depth+1)
	}
	if !isHash(content) {
		return "", fmt.Errorf("a reference holds %.60q, which is no hash", content)
	}
	return strings.ToLower(content), nil
}

func (r *repository) ref(name string, depth int) (string, error) {
	if depth > maxRefDepth {
		return "", errors.New("references name each other in a circle")
	}
	if !strings.HasPrefix(name, "refs/") || !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, "\\") {
		return "", fmt.Errorf("%.60q is no name of a reference", name)
	}
	for _, dir := range []string{r.gitDir, r.commonDir} {
		b, err := readSmall(filepath.Join(dir, filepath.FromSlash(name)), maxPath)
		if err == nil {
			return r.follow(string(b), depth)
		}
	}
	return r.packedRef(name)
}

func (r *repository) packedRef(name string) (string, error) {
	b, err := readSmall(filepath.Join(r.commonDir, "packed-refs"), maxPackedRefs)
	if err != nil {
		return "", errNoRef
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	found := ""
	for lines.Scan() {
		line := lines.Text()
		if found != "" {
			// The line after a tag names the tag's commit.
			if peeled, ok := strings.CutPrefix(line, "^"); ok && isHash(peeled) {
				return peeled, nil
			}
			return found, nil
		}
		if h, ref, ok := strings.Cut(line, " "); ok && ref == name && isHash(h) {
			found = h
		}
	}
	if found != "" {
		return found, nil
	}
	return "", errNoRef
}
