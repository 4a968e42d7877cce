package luthier

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// errTwoTrees is why New refuses a sandbox over another tree than the workspace's.
var errTwoTrees = errors.New("its commands would change another tree than the file tools, the checkpoints and the index. " +
	"Leave Options.Sandbox nil, or open it with sandbox.Local and Config.Dir set to the workspace. " +
	"To work where the sandbox is, open it with luthier.Open and luthier.Box and set Options.Workspace instead; see docs/workspace.md")

// checkTree returns an error unless commands run on the same tree as the tools.
func (c *Coder) checkTree(ctx context.Context, box sandbox.Sandbox) error {
	switch {
	case box == nil, box == c.Sandbox && c.ownsBox:
		return nil
	case c.on.workspace == nil:
		return oneTree(ctx, box, c.on.dir)
	case box == c.on.workspace.Sandbox():
		return nil // it is the workspace
	}
	return errors.New("commands would run in another sandbox than that of Options.Workspace; leave the sandbox of the tools as it is")
}

// oneTree returns an error unless commands of a host's sandbox see and change the files of dir. A
// snapshot, a fork, a copy and a sandbox on another machine do not, whatever their Dir is called.
func oneTree(ctx context.Context, box sandbox.Sandbox, dir string) error {
	refuse := func(how string) error {
		return fmt.Errorf("the sandbox over %s does not work on the workspace %s: %s: %w", box.Dir(), dir, how, errTwoTrees)
	}
	if d, ok := sandbox.As[sandbox.Differ](box); ok {
		if _, err := d.Changes(ctx); err == nil {
			return refuse("it is a snapshot or a fork, or is on another machine")
		}
	}
	// A marker in the directory must be seen by a command, and its removal must be seen here. A
	// wrapper may hide what kind of sandbox is below, so the type of box is not enough.
	marker, word := ".luthier-"+rand.Text(), rand.Text()
	path := filepath.Join(dir, marker)
	if err := os.WriteFile(path, []byte(word), 0o644); err != nil { // nobody can write here
		return sameDir(box, dir, refuse)
	}
	defer os.Remove(path)
	exit, err := box.Exec(ctx, sandbox.Cmd{Args: []string{"sh", "-c", `cat "$1" && rm -f "$1" 2>/dev/null && echo " removed"`, "sh", marker}, Timeout: time.Minute})
	if ctx.Err() != nil {
		return fmt.Errorf("check the sandbox: %w", context.Cause(ctx))
	}
	if err != nil || exit.TimedOut { // no command runs, or not this one
		return sameDir(box, dir, refuse)
	}
	seen, removed := strings.CutSuffix(strings.TrimSpace(exit.Stdout.String()), " removed")
	if seen != word {
		return refuse("a new file in the workspace is not visible to a command")
	}
	if _, err := os.Lstat(path); removed && err == nil {
		return refuse("a file that a command removed is still in the workspace")
	}
	return nil
}

// sameDir compares the paths, for sandboxes that cannot be tried out.
func sameDir(box sandbox.Sandbox, dir string, refuse func(string) error) error {
	if real, err := filepath.EvalSymlinks(box.Dir()); err != nil || real != dir {
		return refuse("it is over another directory")
	}
	return nil
}
