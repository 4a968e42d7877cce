package coding

import (
	"bufio"
	"bytes"
	"errors"
	"go/version"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/internal/shelleffects"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// places looks at what the directories of a command hold, where the meaning of the command depends
// on it. The analysis sees only its text. It returns why the command may do more than it says.
func (w opened) places(a shelleffects.Analysis) (reasons []string) {
	add := func(reason string) {
		if reason != "" && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	for _, c := range a.Commands {
		switch path.Base(c.Name) {
		case "git":
			add(w.plantedRepository())
		case "go":
			for _, dir := range c.Dirs {
				add(w.otherToolchain(dir))
			}
		}
	}
	for _, dir := range a.Leading {
		add(w.optionNames(dir))
	}
	return reasons
}

// withPlaces adds what the directories of a command show to its effects.
func (w opened) withPlaces(e agent.Effects, a shelleffects.Analysis) agent.Effects {
	if !e.Known {
		return e
	}
	if reasons := w.places(a); len(reasons) > 0 {
		e.Known, e.Flags = false, e.Flags|agent.EffectExec
		e.Reasons = append(e.Reasons, reasons...)
	}
	return e
}

// plantedRepository reports whether git may take files that the file tools can write for a
// repository, whose configuration names programs to run: the workspace itself as a bare repository,
// or a directory in it to which .git leads.
func (w opened) plantedRepository() string {
	exists := func(name string) bool {
		_, err := w.root.Lstat(name)
		return err == nil
	}
	if exists("HEAD") && (exists("commondir") || exists("objects") && exists("refs")) {
		return "the workspace holds HEAD, objects and refs, so git may take it for a bare repository and run what its file config names"
	}
	const leads = "git reads its configuration from a directory of the workspace that is not named .git, and may run what it names"
	info, err := w.root.Lstat(".git")
	switch {
	case err != nil || info.IsDir():
		return ""
	case !w.onHost:
		return w.plantedIn(info, leads)
	case info.Mode()&os.ModeSymlink != 0:
		if dest, err := filepath.EvalSymlinks(filepath.Join(w.name, ".git")); err == nil && w.plain(dest) {
			return leads
		}
	default:
		data, err := readSmall(filepath.Join(w.name, ".git"))
		dest := strings.TrimSpace(strings.TrimPrefix(string(data), "gitdir:"))
		if err != nil {
			return "git reads .git, which cannot be read: " + err.Error()
		}
		if !filepath.IsAbs(dest) {
			dest = filepath.Join(w.name, dest)
		}
		if real, err := filepath.EvalSymlinks(dest); err == nil {
			dest = real
		}
		if w.plain(dest) {
			return leads
		}
	}
	return ""
}

// plantedIn is plantedRepository for a .git, not a directory, of a tree that has no path here. It
// returns leads if .git leads to a directory that the file tools may write in.
func (w opened) plantedIn(dotGit fs.FileInfo, leads string) string {
	dest := ".git"
	if dotGit.Mode()&fs.ModeSymlink == 0 {
		data, err := regular.ReadIn(w.root, ".git", maxSmall)
		if err != nil {
			return "git reads .git, which cannot be read: " + show.Cause(err).Error()
		}
		dest = strings.TrimSpace(strings.TrimPrefix(string(data), "gitdir:"))
	}
	t, err := w.resolve(dest)
	if err != nil || slices.Contains(strings.Split(t.rel, "/"), ".git") {
		return "" // commands cannot write there, or only commands can
	}
	return leads
}

// plain reports whether an absolute path is in the workspace and not inside a .git, so that the
// file tools may write there.
func (w opened) plain(p string) bool {
	rel, err := filepath.Rel(w.name, p)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return false
	}
	return !slices.Contains(strings.Split(filepath.ToSlash(rel), "/"), ".git")
}

// otherToolchain reports whether the go command, run in dir, may download and run another
// toolchain: go.mod or go.work asks for one that is newer than the installed one.
func (w opened) otherToolchain(dir string) string {
	installed := installedGo()
	if !w.onHost {
		return w.otherToolchainIn(dir, installed)
	}
	for at := filepath.Join(w.name, filepath.FromSlash(dir)); ; at = filepath.Dir(at) {
		for _, name := range []string{"go.mod", "go.work"} {
			data, err := readSmall(filepath.Join(at, name))
			if why := asksFor(name, data, err, installed); why != "" {
				return why
			}
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// otherToolchainIn is otherToolchain for a tree that has no path here. What is above the tree, in
// the sandbox, is not looked at.
func (w opened) otherToolchainIn(dir, installed string) string {
	for at := cleanRel(dir); ; at = path.Dir(at) {
		for _, name := range []string{"go.mod", "go.work"} {
			data, err := regular.ReadIn(w.root, path.Join(at, name), maxSmall)
			if why := asksFor(name, data, err, installed); why != "" {
				return why
			}
		}
		if at == path.Dir(at) {
			return ""
		}
	}
}

// asksFor returns why a go.mod or go.work asks for another toolchain, or "".
func asksFor(name string, data []byte, err error, installed string) string {
	if errors.Is(err, fs.ErrNotExist) || err == nil && runsWith(data, installed) {
		return ""
	}
	return "go may download the toolchain that " + name + " asks for, and run it"
}

// runsWith reports whether a toolchain satisfies the go and toolchain lines of a file.
func runsWith(file []byte, installed string) bool {
	for lines := bufio.NewScanner(bytes.NewReader(file)); lines.Scan(); {
		text, _, _ := strings.Cut(lines.Text(), "//")
		f := strings.Fields(text)
		if len(f) < 2 || f[0] != "go" && f[0] != "toolchain" || f[1] == "default" || f[1] == "local" {
			continue
		}
		want := f[1]
		if f[0] == "go" {
			want = "go" + want
		}
		if !version.IsValid(want) || !version.IsValid(installed) || version.Compare(want, installed) > 0 {
			return false
		}
	}
	return true
}

// installedGo returns the version of the go command in PATH, as its distribution says, or "".
func installedGo() string {
	bin, err := exec.LookPath("go")
	if err != nil {
		return ""
	}
	if bin, err = filepath.EvalSymlinks(bin); err != nil {
		return ""
	}
	data, err := readSmall(filepath.Join(filepath.Dir(bin), "..", "VERSION"))
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(first)
}

var optionName = regexp.MustCompile(`(?:^|[ \t\n])-`)

// optionNames reports a file whose name a wildcard may turn into an option.
func (w opened) optionNames(dir string) string {
	t, err := w.resolve(dir)
	if err != nil || t.info == nil {
		return ""
	}
	entries, err := w.readDir(t.rel)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if optionName.MatchString(e.Name()) {
			return "a wildcard may match the file " + show.Path(e.Name()) + ", which the program would take for an option"
		}
	}
	return ""
}

const maxSmall = 1 << 20

// readSmall reads a regular file of at most maxSmall bytes.
func readSmall(file string) ([]byte, error) { return regular.Read(file, maxSmall) }
