package gitlog

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// gitSource runs the git program in a directory of our own instead of the repository's directory.
// Our directory has our configuration and refers to the repository's objects, so git finds no
// hooks, monitors, pagers, aliases, drivers, replacements, grafts or remotes.
type gitSource struct {
	program string
	dir     string // our own directory
	repo    *repository
}

// gitConfig is the complete configuration that git sees.
const gitConfig = `[core]
	repositoryformatversion = %d
	bare = true
	commitGraph = false
	fsmonitor = false
	attributesFile = %s
	pager = cat
[log]
	showSignature = false
[protocol]
	allow = never
[gc]
	auto = 0
`

// errNoGit is the reason for using go-git.
var errNoGit = errors.New("the git program cannot be used")

func newGitSource(program string, repo *repository) (*gitSource, error) {
	program, err := exec.LookPath(orDefault(program, "git"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoGit, err)
	}
	dir, err := os.MkdirTemp("", "luthier-history-*")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoGit, err)
	}
	g := &gitSource{program: program, dir: dir, repo: repo}
	if err := g.prepare(); err != nil {
		g.close()
		return nil, fmt.Errorf("%w: %w", errNoGit, err)
	}
	return g, nil
}

func (g *gitSource) close() { _ = os.RemoveAll(g.dir) }

func (g *gitSource) prepare() error {
	config := fmt.Sprintf(gitConfig, 0, os.DevNull)
	if g.repo.hashLen == 32 {
		config = fmt.Sprintf(gitConfig, 1, os.DevNull) + "[extensions]\n\tobjectFormat = sha256\n"
	}
	files := map[string]string{"config": config, "HEAD": "ref: refs/heads/none\n"}
	if len(g.repo.shallow) > 0 {
		files["shallow"] = strings.Join(g.repo.shallow, "\n") + "\n"
	}
	for _, d := range []string{"objects", "refs"} {
		if err := os.Mkdir(filepath.Join(g.dir, d), 0o700); err != nil {
			return err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// env returns the complete environment of git. From the host's environment it takes only the
// variables that are needed to find programs.
func (g *gitSource) env() []string {
	null := os.DevNull
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "XDG_CONFIG_HOME=" + g.dir, "LC_ALL=C", "TZ=UTC",
		"GIT_DIR=" + g.dir, "GIT_OBJECT_DIRECTORY=" + filepath.Join(g.repo.commonDir, "objects"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=" + null, "GIT_CONFIG_GLOBAL=" + null, "GIT_ATTR_NOSYSTEM=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_ALLOW_PROTOCOL=none",
		"GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat",
	}
	for _, name := range []string{"SYSTEMROOT", "TEMP", "TMP"} { // Windows cannot start programs without them
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func (g *gitSource) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.program, append([]string{"--no-pager"}, args...)...)
	cmd.Dir, cmd.Env = g.dir, g.env()
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// logArgs show a merge as the difference to its first parent. Renames are found by pairRenames.
var logArgs = []string{"log", "-z", "--raw", "--no-abbrev", "--no-renames", "--diff-merges=first-parent", "--root",
	"--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-color", "--no-decorate", "--no-notes", "--no-mailmap",
	"--encoding=UTF-8", "--ignore-missing", logFormat}

func (g *gitSource) read(ctx context.Context, q reading, yield func(*rawCommit)) error {
	args := append(append([]string{}, logArgs...), "-n", strconv.Itoa(q.n), "--stdin")
	cmd := g.command(ctx, args...)
	var stdin, stderr bytes.Buffer
	for _, id := range q.want {
		fmt.Fprintf(&stdin, "%x\n", id)
	}
	for _, id := range q.known {
		fmt.Fprintf(&stdin, "^%x\n", id)
	}
	cmd.Stdin, cmd.Stderr = &stdin, &limitedBuffer{b: &stderr, n: 4 << 10}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w: %w", errNoGit, err)
	}
	last, err := g.parse(out, yield)
	if err != nil {
		_ = cmd.Process.Kill()
	}
	err = errors.Join(err, gitError(cmd.Wait(), stderr.String()))
	if err == nil && last != nil {
		yield(last)
	}
	return err
}

// parse yields all commits except the last. Only after git has exited successfully is it certain
// that the last commit's changes are complete.
func (g *gitSource) parse(out io.Reader, yield func(*rawCommit)) (last *rawCommit, err error) {
	cut := map[string]bool{}
	for _, h := range g.repo.shallow {
		cut[h] = true
	}
	p := newLogParser(out, g.repo.hashLen)
	for {
		c, err := p.Next()
		if errors.Is(err, io.EOF) {
			return last, nil
		}
		if err != nil {
			return nil, err
		}
		c.boundary = len(cut) > 0 && cut[hex.EncodeToString([]byte(c.id))]
		if last != nil {
			yield(last)
		}
		last = c
	}
}

func gitError(err error, stderr string) error {
	if err == nil {
		return nil
	}
	line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	if line == "" {
		return fmt.Errorf("git: %w", err)
	}
	return fmt.Errorf("git: %w: %s", err, line)
}

func (g *gitSource) peel(ctx context.Context, name string) (string, error) {
	out, err := g.command(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}").Output()
	h := strings.TrimSpace(string(out))
	if err != nil || !isHash(h) {
		return "", errNoRef
	}
	return h, nil
}

// limitedBuffer keeps the beginning of the data written to it.
type limitedBuffer struct {
	b *bytes.Buffer
	n int
}

func (l *limitedBuffer) Write(p []byte) (int, error) {
	l.b.Write(p[:min(len(p), max(0, l.n-l.b.Len()))])
	return len(p), nil
}
