package layers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/index"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular/gitfs"
)

// Dot describes the .git directory that a commit's tree can have.
type Dot struct {
	Branch string // full name of the branch that HEAD names; empty if HEAD names the commit
}

// clone describes the .git directory of a commit's tree: what a clone of the repository would have,
// without its remotes, hooks and settings.
type clone struct {
	dir    string // the repository's common git directory
	commit plumbing.Hash
	head   string   // the content of HEAD
	refs   []string // of packed-refs, in order
	user   string   // the section of the configuration that names the author, or ""
}

// cloneOf reads what the clone's .git will contain, besides objects. branch is the one that HEAD
// names, or empty.
func cloneOf(repo *git.Repository, commit plumbing.Hash, dir, branch string) (*clone, error) {
	c := &clone{commit: commit, head: commit.String() + "\n"}
	var err error
	if c.dir, err = gitfs.CommonDir(dir, true); err != nil {
		return nil, err
	}
	on := plumbing.ReferenceName(branch)
	refs, err := repo.References()
	if err != nil {
		return nil, err
	}
	defer refs.Close()
	err = refs.ForEach(func(r *plumbing.Reference) error {
		n := r.Name()
		if r.Type() == plumbing.HashReference && n != on && (n.IsBranch() || n.IsTag() || n.IsRemote()) {
			c.refs = append(c.refs, r.Hash().String()+" "+n.String())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if on != "" {
		c.head = "ref: " + on.String() + "\n"
		c.refs = append(c.refs, commit.String()+" "+on.String())
	}
	slices.SortFunc(c.refs, func(a, b string) int { return strings.Compare(a[41:], b[41:]) })
	c.user = author(repo)
	return c, nil
}

// author returns the section of the configuration that says who commits.
func author(repo *git.Repository) string {
	cfg, err := repo.ConfigScoped(config.GlobalScope)
	if err != nil || cfg.User.Name == "" || cfg.User.Email == "" {
		return ""
	}
	own := config.NewConfig()
	own.User.Name, own.User.Email = cfg.User.Name, cfg.User.Email
	b, err := own.Marshal()
	if err != nil {
		return ""
	}
	_, user, _ := bytes.Cut(b, []byte("[user]"))
	return "[user]" + string(user)
}

// id identifies the clone by all it contains.
func (c *clone) id() string {
	h := sha256.New()
	fmt.Fprintf(h, "luthier clone 1\x00%v\x00%s\x00%s\x00%s", c.commit, c.head, strings.Join(c.refs, "\n"), c.user)
	return "clone-" + hex.EncodeToString(h.Sum(nil))
}

// write writes the .git of the tree that was checked out at top, which is open as root and whose
// files are the index.
func (c *clone) write(ctx context.Context, top string, root *os.Root, files *index.Index) (int64, error) {
	for _, d := range []string{".git", ".git/objects", ".git/objects/info", ".git/objects/pack", ".git/refs", ".git/refs/heads", ".git/refs/tags", ".git/info"} {
		if err := root.Mkdir(d, 0o755); err != nil {
			return 0, fmt.Errorf("write %q: %w", d, err)
		}
	}
	var entries bytes.Buffer
	if err := index.NewEncoder(&entries).Encode(files); err != nil {
		return 0, err
	}
	settings := "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n" + c.user
	packed := strings.Join(append([]string{"# pack-refs with: sorted "}, c.refs...), "\n") + "\n"
	var sum int64
	for name, text := range map[string]string{"HEAD": c.head, "config": settings, "packed-refs": packed, "index": entries.String()} {
		if err := root.WriteFile(".git/"+name, []byte(text), 0o644); err != nil {
			return sum, err
		}
		sum += int64(len(text))
	}
	if b, err := regular.Read(filepath.Join(c.dir, "shallow"), 64<<20); err == nil {
		if err := root.WriteFile(".git/shallow", b, 0o644); err != nil {
			return sum, err
		}
	}
	objects := &objectCopy{ctx: ctx, top: top, to: root}
	err := objects.from(filepath.Join(c.dir, "objects"), 0)
	return sum + objects.bytes, err
}

// objectCopy brings the object files of a repository into another.
type objectCopy struct {
	ctx   context.Context
	top   string   // the work tree that receives them
	to    *os.Root // the same
	bytes int64    // of files that are not shared
}

// maxAlternates is the depth to which git follows alternates of alternates.
const maxAlternates = 5

// from takes the files of one object directory and of those that it borrows from. Files are linked
// where the file system allows it: objects never change.
func (c *objectCopy) from(dir string, depth int) error {
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		switch {
		case err != nil:
			return err
		case c.ctx.Err() != nil:
			return context.Cause(c.ctx)
		case d.IsDir() && rel == "info":
			return fs.SkipDir
		case d.IsDir() && rel != "." && !isObjectDir(rel):
			return fs.SkipDir
		case !d.Type().IsRegular() || !isObjectFile(rel):
			return nil
		}
		return c.take(name, path.Join(".git/objects", filepath.ToSlash(rel)))
	})
	if err != nil {
		return err
	}
	b, err := regular.Read(filepath.Join(dir, "info", "alternates"), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimRight(line, "\r\n"); line == "" || line[0] == '#' {
			continue
		}
		if depth == maxAlternates {
			return fmt.Errorf("%s: alternates are nested more than %d deep", dir, maxAlternates)
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(dir, line)
		}
		if err := c.from(line, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func isObjectDir(rel string) bool {
	return rel == "pack" || len(rel) == 2 && strings.Trim(rel, "0123456789abcdef") == ""
}

func isObjectFile(rel string) bool {
	dir, name := filepath.Split(rel)
	if filepath.Clean(dir) != "pack" {
		return len(name) == 38 && strings.Trim(name, "0123456789abcdef") == ""
	}
	return slices.Contains([]string{".pack", ".idx", ".rev"}, path.Ext(name))
}

func (c *objectCopy) take(from, name string) error {
	if err := c.to.Mkdir(path.Dir(name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Link(from, filepath.Join(c.top, filepath.FromSlash(name))); err == nil || errors.Is(err, fs.ErrExist) {
		return nil // with the same name, it is the same object
	}
	src, err := regular.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := c.to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	n, err := io.Copy(dst, src)
	c.bytes += n
	return errors.Join(err, dst.Close())
}
