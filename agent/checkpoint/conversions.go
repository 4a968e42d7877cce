package checkpoint

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing/format/config"
	"github.com/go-git/go-git/v5/plumbing/format/index"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/internal/ignore"
)

// conversions says for which files git stores other bytes than the work tree has, but as many
// (gitattributes(5)). In doubt it says that git does. Other line endings show in the size.
type conversions struct {
	all   bool     // any file may be converted
	names []string // patterns of names of files that programs convert: "*.png"
}

// converts reports whether the bytes of a file may differ from its blob's, even if their sizes are
// equal.
func (c *conversions) converts(name string) bool {
	for _, p := range c.names {
		if ok, err := path.Match(p, path.Base(name)); ok || err != nil {
			return true
		}
	}
	return false
}

// readConversions reads the attributes and the settings that apply to a work tree. Attributes are
// in the tracked files and in those further ones of the given names.
func readConversions(repo ignore.Repository, entries []*index.Entry, further []string) conversions {
	var c conversions
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/"
	}
	dir := cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	for _, f := range []string{"/etc/gitconfig", os.Getenv("GIT_CONFIG_SYSTEM"), os.Getenv("GIT_CONFIG_GLOBAL"), filepath.Join(dir, "git", "config"),
		filepath.Join(home, ".gitconfig"), filepath.Join(repo.Common, "config"), filepath.Join(repo.Git, "config.worktree")} {
		c.config(f, home, maxIncludes)
	}
	c.all = c.all || os.Getenv("GIT_CONFIG_COUNT") != "" || os.Getenv("GIT_CONFIG_PARAMETERS") != ""
	for _, f := range []string{filepath.Join(repo.Common, "info", "attributes"), filepath.Join(dir, "git", "attributes"), "/etc/gitattributes"} {
		c.attributes(f)
	}
	for _, e := range entries {
		if path.Base(e.Name) == ".gitattributes" {
			c.attributes(filepath.Join(repo.Top, filepath.FromSlash(e.Name)))
		}
	}
	for _, f := range further {
		c.attributes(f)
	}
	return c
}

// maxIncludes is the depth to which git follows includes.
const maxIncludes = 10

// config reads the settings of a configuration that matter, and of those it includes, whatever the
// conditions.
func (c *conversions) config(file, home string, depth int) {
	text, ok := c.read(file)
	if !ok {
		return
	}
	cfg := config.New()
	if config.NewDecoder(strings.NewReader(text)).Decode(cfg) != nil {
		c.all = true
		return
	}
	named := func(value string) string {
		if rest, ok := strings.CutPrefix(value, "~/"); ok {
			return filepath.Join(home, rest)
		}
		if filepath.IsAbs(value) {
			return value
		}
		return filepath.Join(filepath.Dir(file), value)
	}
	each := func(name string, os config.Options) {
		for _, o := range os {
			switch name + "." + strings.ToLower(o.Key) {
			case "core.attributesfile":
				c.attributes(named(o.Value))
			case "include.path", "includeif.path":
				if depth == 0 {
					c.all = true
					return
				}
				c.config(named(o.Value), home, depth-1)
			}
		}
	}
	for _, s := range cfg.Sections {
		name := strings.ToLower(s.Name)
		each(name, s.Options)
		for _, sub := range s.Subsections {
			each(name, sub.Options)
		}
	}
}

// attributes reads a file of attributes.
func (c *conversions) attributes(file string) {
	text, ok := c.read(file)
	if !ok {
		return
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		for _, a := range fields[1:] {
			name, _, _ := strings.Cut(strings.TrimLeft(a, "-!"), "=")
			switch name {
			case "filter", "ident", "working-tree-encoding":
				if pattern := fields[0]; strings.ContainsAny(pattern, `/"\[`) {
					c.all = true // also macros
				} else {
					c.names = append(c.names, pattern)
				}
			}
		}
		if strings.HasPrefix(fields[0], "[attr]") {
			c.all = true
		}
	}
}

// read reads a file if it exists. One that cannot be read may say anything.
func (c *conversions) read(file string) (string, bool) {
	if file == "" {
		return "", false
	}
	data, err := regular.Read(file, 4<<20)
	c.all = c.all || err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
	return string(data), err == nil
}
