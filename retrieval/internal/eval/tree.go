package eval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tree is a directory with the files of a commit.
type tree struct {
	gitDir string
	dir    string
	root   *os.Root
	commit string // empty if the contents of the directory are not known
	files  map[string]blob
	blobs  *blobReader
}

// blob is a file of a tree.
type blob struct{ mode, id string }

const (
	modeLink    = "120000"
	modeProgram = "100755"
	modeFile    = "100644"
)

// openTree reuses the directory left by an earlier process, if its note says which commit it holds.
func openTree(gitDir, dir string) (*tree, error) {
	if _, err := os.Stat(filepath.Join(gitDir, "objects")); err != nil {
		return nil, err
	}
	w := &tree{gitDir: gitDir, dir: dir, files: map[string]blob{}}
	if b, err := os.ReadFile(w.note()); err == nil && isHash(string(b)) {
		if files, err := listTree(context.Background(), gitDir, string(b)); err == nil {
			w.commit, w.files = string(b), files
		}
	}
	if w.commit == "" {
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	w.root = root
	return w, err
}

// note returns the path of the file that names the directory's commit. The file is absent while the
// commit changes.
func (w *tree) note() string { return w.dir + ".commit" }

func (w *tree) close() error {
	return errors.Join(w.root.Close(), w.blobs.close())
}

// checkout switches the directory to another commit.
func (w *tree) checkout(ctx context.Context, commit string) error {
	if w.commit == commit {
		return nil
	}
	files, err := listTree(ctx, w.gitDir, commit)
	if err != nil {
		return err
	}
	if err := os.Remove(w.note()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w.commit = ""
	for name := range w.files {
		if _, stays := files[name]; !stays {
			if err := w.remove(name); err != nil {
				return err
			}
		}
	}
	for name, b := range files {
		if w.files[name] == b {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.write(name, b); err != nil {
			return err
		}
	}
	w.commit = commit
	return os.WriteFile(w.note(), []byte(commit), 0o600)
}

// remove deletes a file, and directories that become empty.
func (w *tree) remove(name string) error {
	delete(w.files, name)
	if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNotDir) {
		return err
	}
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if w.root.Remove(dir) != nil {
			break
		}
	}
	return nil
}

func (w *tree) write(name string, b blob) error {
	if w.blobs == nil {
		var err error
		if w.blobs, err = newBlobReader(w.gitDir); err != nil {
			return err
		}
	}
	content, err := w.blobs.read(b.id)
	if err != nil && !errors.Is(err, errNoBlob) {
		w.blobs.close()
		w.blobs = nil
		return err
	}
	lacking := err != nil
	if err := w.root.RemoveAll(name); err != nil && !errors.Is(err, errNotDir) {
		return err
	}
	w.files[name] = b // even if the content is missing, or it would be looked up again each time
	if lacking {
		return nil
	}
	if err := w.root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	switch b.mode {
	case modeLink:
		return w.root.Symlink(string(content), name)
	case modeProgram:
		return w.root.WriteFile(name, content, 0o755)
	}
	return w.root.WriteFile(name, content, 0o644)
}

// listTree returns the files of a commit by path, with the system's separators.
func listTree(ctx context.Context, gitDir, commit string) (map[string]blob, error) {
	cmd := gitCommand(ctx, gitDir, "ls-tree", "-r", "-z", "--full-tree", commit)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-tree: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	files := map[string]blob{}
	for line := range strings.SplitSeq(string(out), "\x00") {
		head, name, ok := strings.Cut(line, "\t")
		f := strings.Fields(head)
		if !ok || len(f) != 3 || f[1] != "blob" {
			continue
		}
		if name = filepath.FromSlash(name); filepath.IsLocal(name) {
			files[name] = blob{f[0], f[2]}
		}
	}
	return files, nil
}

// gitCommand runs git on a repository without the user's configuration.
func gitCommand(ctx context.Context, gitDir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--git-dir", gitDir, "-c", "core.fsmonitor=false"}, args...)...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C")
	return cmd
}
