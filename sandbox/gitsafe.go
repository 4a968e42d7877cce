package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/sandbox/internal/review"
	"github.com/luthier-dev/luthier/sandbox/internal/scratch"
	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// SafeGit prepares a git command over a work tree that commands of a sandbox may have written, such
// that nothing they left there is executed: git reads neither the repository's configuration nor
// the user's or the system's, and so knows no hooks, filters, monitors, pagers, aliases, credential
// helpers or transports.
//
// git works on a separate directory in place of .git, with the repository's objects and references
// behind it. It can read (status, diff, log, show, ls-files, cat-file, apply) and, if the objects
// are writable, add to them; the index and HEAD are copies, which are lost with the command. done
// removes them and must be called when the command has ended. The command is killed when ctx ends,
// or after ten minutes if ctx has no deadline. args[0] is git's command; what would reach a network
// or another repository is refused. A directory without .git works for commands that need none,
// such as apply and diff --no-index.
func SafeGit(ctx context.Context, dir string, args ...string) (cmd *exec.Cmd, done func() error, err error) {
	cmd, done, err = safeGit(ctx, dir, args)
	if err != nil {
		return nil, nil, fmt.Errorf("sandbox: prepare git in %s: %w", dir, err)
	}
	return cmd, done, nil
}

func safeGit(ctx context.Context, dir string, args []string) (*exec.Cmd, func() error, error) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return nil, nil, errors.New("the first argument must be git's command")
	}
	if !slices.Contains(safeGitCommands, args[0]) {
		return nil, nil, fmt.Errorf("%q is not among what can be done safely: %s", args[0], strings.Join(safeGitCommands, ", "))
	}
	for _, a := range args[1:] {
		if a == "--" {
			break
		}
		if unsafeGitOption(a) {
			return nil, nil, fmt.Errorf("the option %q can run programs or write files", a)
		}
	}
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, nil, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, nil, err
	}
	shadow, err := os.MkdirTemp("", scratch.Prefix+"git-*")
	if err != nil {
		return nil, nil, err
	}
	done := func() error { return os.RemoveAll(shadow) }
	objects, err := shadowGit(dir, shadow)
	if err != nil {
		return nil, nil, errors.Join(err, done())
	}
	argv := []string{"--no-pager", args[0]}
	if slices.Contains(submoduleCommands, args[0]) {
		// This is the one setting that a .gitmodules could override: git would start another git in
		// each submodule, with the configuration there.
		argv = append(argv, "--ignore-submodules=all")
	}
	// git waits for ever for a FIFO in the place of an object or a file of the work tree.
	end := func() {}
	if _, ok := ctx.Deadline(); !ok {
		ctx, end = context.WithTimeout(ctx, safeGitTime)
	}
	cmd := exec.CommandContext(ctx, program, append(argv, args[1:]...)...)
	cmd.Dir = dir
	cmd.Env = safeGitEnv(dir, shadow, objects)
	cmd.WaitDelay = 2 * time.Second
	return cmd, func() error { end(); return done() }, nil
}

// safeGitTime limits the time of git if the context has no deadline.
const safeGitTime = 10 * time.Minute

// safeGitCommands lists commands that only read a repository or change nothing but the work tree.
var safeGitCommands = []string{"apply", "blame", "cat-file", "check-ignore", "diff", "diff-files", "diff-index", "diff-tree",
	"for-each-ref", "hash-object", "log", "ls-files", "ls-tree", "merge-base", "rev-list", "rev-parse", "shortlog", "show",
	"show-ref", "status", "version"}

// submoduleCommands lists commands that read submodules by default.
var submoduleCommands = []string{"diff", "diff-files", "diff-index", "diff-tree", "log", "show", "status"}

// unsafeGitOptions lists options of these commands that run programs or write to a given place.
var unsafeGitOptions = []string{"--ext-diff", "--textconv", "--output", "--open-files-in-pager", "--filters", "--unsafe-paths",
	"--ignore-submodules", "--recurse-submodules", "--submodule", "--exec-path", "--show-signature"}

// unsafeGitOption reports whether arg is an unsafe option. git accepts any unique prefix of a long
// option.
func unsafeGitOption(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	if strings.HasPrefix(name, "-O") {
		return true
	}
	if len(name) < 4 || !strings.HasPrefix(name, "--") || name == "--text" || name == "--exec" {
		return false
	}
	return slices.ContainsFunc(unsafeGitOptions, func(o string) bool { return strings.HasPrefix(o, name) })
}

// safeGitConfig is git's whole configuration.
const safeGitConfig = `[core]
	repositoryformatversion = %d
	bare = false
	hooksPath = /dev/null
	fsmonitor = false
	untrackedCache = false
	attributesFile = /dev/null
	excludesFile = /dev/null
	pager = cat
	editor = false
	sshCommand = false
	askPass = false
	symlinks = true
	protectHFS = true
	protectNTFS = true
[safe]
	directory = *
	bareRepository = explicit
[protocol]
	allow = never
[submodule]
	recurse = false
[diff]
	ignoreSubmodules = all
[status]
	submoduleSummary = false
[log]
	showSignature = false
[gc]
	auto = 0
[maintenance]
	auto = false
[credential]
	helper =
`

// shadowGit makes a git directory with only the data of dir's, and returns the path of the objects.
func shadowGit(dir, shadow string) (string, error) {
	config, head := fmt.Sprintf(safeGitConfig, 0), "ref: refs/heads/main\n"
	objects := filepath.Join(shadow, "objects")
	root, err := regular.OpenRoot(filepath.Join(dir, ".git"))
	switch {
	case tree.Missing(err):
	case err != nil:
		return "", err
	default:
		defer root.Close()
		if sha256, err := usesSHA256(root); err != nil {
			return "", err
		} else if sha256 {
			config = fmt.Sprintf(safeGitConfig, 1) + "[extensions]\n\tobjectFormat = sha256\n"
		}
		for _, name := range []string{"index", "packed-refs", "shallow"} {
			if err := copyData(root, name, shadow); err != nil {
				return "", err
			}
		}
		if b, err := readData(root, "HEAD"); err == nil {
			head = string(b)
		}
		if err := copyRefs(root, "refs", shadow); err != nil {
			return "", err
		}
		if fi, err := root.Lstat("objects"); err == nil && fi.IsDir() {
			objects = filepath.Join(dir, ".git", "objects")
		}
	}
	for _, d := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(shadow, d), 0o700); err != nil {
			return "", err
		}
	}
	for name, text := range map[string]string{"config": config, "HEAD": head} {
		if err := os.WriteFile(filepath.Join(shadow, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	return objects, nil
}

// usesSHA256 reads the only setting that is needed to understand objects.
func usesSHA256(root *os.Root) (bool, error) {
	b, err := readData(root, "config")
	if tree.Missing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	settings, err := review.ParseGitConfig(b)
	if err != nil {
		return false, fmt.Errorf("the repository's configuration cannot be understood: %w", err)
	}
	return slices.Contains(settings, review.Setting{Key: "extensions.objectformat", Value: "sha256"}), nil
}

// maxIndex bounds what is copied from a repository.
const maxIndex = 256 << 20

func readData(root *os.Root, name string) ([]byte, error) {
	fi, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf(".git/%s is no regular file", name)
	}
	return tree.ReadIn(root, name, fi, maxIndex)
}

func copyData(root *os.Root, name, shadow string) error {
	b, err := readData(root, name)
	if tree.Missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(shadow, filepath.FromSlash(name)), b, 0o600)
}

// copyRefs copies references, which are short; it leaves out anything else below them.
func copyRefs(root *os.Root, rel, shadow string) error {
	if err := os.Mkdir(filepath.Join(shadow, filepath.FromSlash(rel)), 0o700); err != nil {
		return err
	}
	names, err := tree.ReadNames(root, rel)
	if err != nil {
		return err
	}
	for _, name := range names {
		next := rel + "/" + name
		fi, err := root.Lstat(next)
		switch {
		case err != nil || next == "refs/replace":
		case fi.IsDir():
			err = copyRefs(root, next, shadow)
		case fi.Mode().IsRegular() && fi.Size() <= 4096:
			err = copyData(root, next, shadow)
		}
		if err != nil && !tree.Missing(err) {
			return err
		}
	}
	return nil
}

// safeGitEnv returns the whole environment of git; only PATH and SYSTEMROOT come from the host.
func safeGitEnv(dir, shadow, objects string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"SYSTEMROOT=" + os.Getenv("SYSTEMROOT"),
		"HOME=" + shadow, "XDG_CONFIG_HOME=" + shadow, "LC_ALL=C", "TZ=UTC",
		"GIT_DIR=" + shadow, "GIT_WORK_TREE=" + dir, "GIT_OBJECT_DIRECTORY=" + objects,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "GIT_SSH_COMMAND=false", "GIT_ALLOW_PROTOCOL=none",
		"GIT_EDITOR=false", "GIT_PAGER=cat", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir),
	}
}
