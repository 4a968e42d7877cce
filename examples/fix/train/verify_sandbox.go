package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// A confined executor runs broken code in a sandbox over a private view of its module.
type confined struct{ sandbox.Sandbox }

// confine opens a sandbox over the module in root, in which the directory bins is readable and the
// directory covers writable.
func confine(ctx context.Context, root, bins, covers string) (confined, error) {
	sb, err := sandbox.Local(ctx, sandbox.Config{
		Snapshot: sandbox.SnapshotDir(root),
		ReadOnly: []string{bins},
		Writable: []string{covers},
		Limits:   sandbox.Limits{Memory: 3 << 30, Processes: 512, FileSize: 256 << 20},
	})
	return confined{sb}, err
}

// Exec implements verify.Executor.
func (c confined) Exec(ctx context.Context, dir string, args, env []string, timeout time.Duration) ([]byte, int, error) {
	exit, err := c.Sandbox.Exec(ctx, sandbox.Cmd{Args: args, Dir: dir, Env: env, Timeout: timeout, MergeStderr: true})
	if err != nil {
		return nil, 0, err
	}
	return exit.Stdout.Bytes(), exit.Code, nil
}

// copyModule makes a writable copy of a module, with a go.mod if it has none.
func copyModule(from, to, path string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := copyTree(from, to); err != nil {
		return err
	}
	mod := filepath.Join(to, "go.mod")
	if _, err := os.Stat(mod); err == nil {
		return nil
	}
	return os.WriteFile(mod, []byte("module "+path+"\n\ngo 1.21\n"), 0o644)
}

// copyTree copies a directory; the copy is writable, whatever permissions the original has.
func copyTree(from, to string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Type()&os.ModeSymlink != 0 {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, fi.Mode().Perm()|0o600)
	})
}

// copyGoroot copies the parts of a Go installation that are needed to build and test changed
// packages of its standard library.
func copyGoroot(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	for _, part := range []string{"bin", "pkg", "src", "lib"} {
		if err := copyTree(filepath.Join(from, part), filepath.Join(to, part)); err != nil {
			return err
		}
	}
	for _, file := range []string{"go.env", "VERSION"} {
		data, err := os.ReadFile(filepath.Join(from, file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, file), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
