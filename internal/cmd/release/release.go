package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/internal/atomicfile"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// release writes every module of the repository at dir, as committed, into the file-system proxy
// out. It returns the modules in the order in which they were written: what another requires
// comes first.
func release(dir, version, out string) ([]module.Version, error) {
	if semver.Canonical(version) != version || semver.Build(version) != "" {
		return nil, fmt.Errorf("release: version %q: write it as v1.2.3 or v1.2.3-rc.1", version)
	}
	if changed, err := git(dir, "status", "--porcelain", "--untracked-files=no"); err != nil {
		return nil, err
	} else if len(changed) > 0 {
		return nil, fmt.Errorf("release: the working tree differs from its last commit, which is what is released: commit or stash these first:\n%s", changed)
	}
	when, err := git(dir, "log", "-1", "--format=%cI")
	if err != nil {
		return nil, err
	}
	committed, err := time.Parse(time.RFC3339, strings.TrimSpace(string(when)))
	if err != nil {
		return nil, fmt.Errorf("release: the commit's time: %w", err)
	}
	tree, err := os.MkdirTemp("", "release-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tree)
	if err := checkout(dir, tree); err != nil {
		return nil, err
	}
	modules, err := find(tree, version)
	if err != nil {
		return nil, err
	}
	var released []module.Version
	for _, m := range modules {
		if err := m.settle(tree, modules); err != nil {
			return nil, err
		}
		if err := m.publish(out, committed.UTC()); err != nil {
			return nil, err
		}
		released = append(released, m.Version)
	}
	// A release is found by the lists of versions: a killed one is none, and can be made again.
	for _, m := range modules {
		if err := m.list(out); err != nil {
			return nil, err
		}
	}
	return released, nil
}

func git(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("release: git %s: %w: %s", args[0], err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}

// checkout writes the files of the last commit to a directory.
func checkout(dir, tree string) error {
	packed, err := git(dir, "archive", "--format=tar", "HEAD")
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer root.Close()
	for in := tar.NewReader(bytes.NewReader(packed)); ; {
		h, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("release: read the commit: %w", err)
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(filepath.Clean(h.Name), 0o755)
		case tar.TypeReg:
			var b []byte
			if b, err = io.ReadAll(in); err == nil {
				err = root.WriteFile(h.Name, b, 0o644)
			}
		}
		if err != nil {
			return fmt.Errorf("release: write the commit: %w", err)
		}
	}
}

// mod is a module to release.
type mod struct {
	module.Version
	dir string   // in the temporary tree
	gm  []byte   // go.mod as released
	sum []string // lines of go.sum by which others name this release
}

// find returns the modules that go.work joins, sorted so that each comes behind those it requires.
func find(tree, version string) ([]*mod, error) {
	name := filepath.Join(tree, "go.work")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	work, err := modfile.ParseWork(name, text, nil)
	if err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	var all []*mod
	needs := map[string][]string{}
	for _, use := range work.Use {
		m := &mod{dir: filepath.Join(tree, filepath.FromSlash(use.Path))}
		file, err := m.read()
		if err != nil {
			return nil, err
		}
		m.Version = module.Version{Path: file.Module.Mod.Path, Version: version}
		if err := module.Check(m.Path, version); err != nil {
			return nil, fmt.Errorf("release: %w", err)
		}
		for _, r := range file.Require {
			needs[m.Path] = append(needs[m.Path], r.Mod.Path)
		}
		all = append(all, m)
	}
	var sorted []*mod
	for len(all) > 0 {
		i := slices.IndexFunc(all, func(m *mod) bool {
			return !slices.ContainsFunc(all, func(o *mod) bool { return slices.Contains(needs[m.Path], o.Path) })
		})
		if i < 0 {
			return nil, fmt.Errorf("release: %s requires itself by way of others", all[0].Path)
		}
		sorted, all = append(sorted, all[i]), slices.Delete(all, i, i+1)
	}
	return sorted, nil
}

func (m *mod) read() (*modfile.File, error) {
	name := filepath.Join(m.dir, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	file, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	return file, nil
}

// settle makes go.mod require the other modules at the version that is released, adds their
// checksums to go.sum, and gives the module the repository's license.
func (m *mod) settle(tree string, all []*mod) error {
	file, err := m.read()
	if err != nil {
		return err
	}
	for _, r := range slices.Clone(file.Replace) {
		if err := file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return fmt.Errorf("release: %s: %w", m.Path, err)
		}
	}
	sums, err := os.ReadFile(filepath.Join(m.dir, "go.sum"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("release: %w", err)
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(sums)), "\n"), func(line string) bool {
		path, _, _ := strings.Cut(line, " ")
		return line == "" || slices.ContainsFunc(all, func(o *mod) bool { return o.Path == path })
	})
	for _, o := range all {
		if slices.ContainsFunc(file.Require, func(r *modfile.Require) bool { return r.Mod.Path == o.Path }) {
			if err := file.AddRequire(o.Path, o.Version.Version); err != nil {
				return fmt.Errorf("release: %s: %w", m.Path, err)
			}
			lines = append(lines, o.sum...)
		}
	}
	file.Cleanup()
	if m.gm, err = file.Format(); err != nil {
		return fmt.Errorf("release: %s: %w", m.Path, err)
	}
	slices.Sort(lines)
	license, err := os.ReadFile(filepath.Join(tree, "LICENSE"))
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(m.dir, "go.mod"), m.gm, 0o644),
		os.WriteFile(filepath.Join(m.dir, "go.sum"), []byte(strings.Join(lines, "\n")+"\n"), 0o644),
		os.WriteFile(filepath.Join(m.dir, "LICENSE"), license, 0o644))
}

// at returns the module's directory in the proxy.
func (m *mod) at(out string) string {
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		panic(err) // checked by find
	}
	return filepath.Join(out, filepath.FromSlash(escaped), "@v")
}

// publish writes the files of the module proxy protocol (https://go.dev/ref/mod#goproxy-protocol)
// except the list of versions.
func (m *mod) publish(out string, committed time.Time) error {
	dir := m.at(out)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	base := filepath.Join(dir, m.Version.Version)
	if had, err := versions(dir); err != nil {
		return err
	} else if slices.Contains(had, m.Version.Version) {
		return fmt.Errorf("release: %s is in %s already, and a published version never changes: choose the next one", m.Version, out)
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{m.Version.Version, committed})
	if err != nil {
		return err
	}
	if err := m.pack(base + ".zip"); err != nil {
		return fmt.Errorf("release: %s: %w", m.Version, err)
	}
	if err := errors.Join(os.WriteFile(base+".mod", m.gm, 0o644), os.WriteFile(base+".info", info, 0o644)); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	tree, err := dirhash.HashZip(base+".zip", dirhash.Hash1)
	if err != nil {
		return fmt.Errorf("release: %s: %w", m.Version, err)
	}
	mod, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m.gm)), nil })
	if err != nil {
		return fmt.Errorf("release: %s: %w", m.Version, err)
	}
	m.sum = []string{
		fmt.Sprintf("%s %s %s", m.Path, m.Version.Version, tree),
		fmt.Sprintf("%s %s/go.mod %s", m.Path, m.Version.Version, mod),
	}
	return nil
}

// pack writes the module's zip file, whole or not at all.
func (m *mod) pack(name string) error {
	return atomicfile.Write(name, atomicfile.Options{Perm: 0o644}, func(w io.Writer) error { return zip.CreateFromDir(w, m.Version, m.dir) })
}

// list adds the version to those that a proxy's directory lists. The file is replaced as a whole.
func (m *mod) list(out string) error {
	dir := m.at(out)
	all, err := versions(dir)
	if err != nil {
		return err
	}
	all = append(all, m.Version.Version)
	semver.Sort(all)
	if err := atomicfile.WriteBytes(filepath.Join(dir, "list"), atomicfile.Options{Perm: 0o644}, []byte(strings.Join(all, "\n")+"\n")); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}

// versions returns those that a proxy's directory lists.
func versions(dir string) ([]string, error) {
	b, err := os.ReadFile(filepath.Join(dir, "list"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("release: %w", err)
	}
	return strings.Fields(string(b)), nil
}
