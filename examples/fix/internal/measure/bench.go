package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/luthier-dev/luthier/examples/fix/internal/verify"
	"github.com/luthier-dev/luthier/sandbox"
)

// bench is a copy of a module in which packages are broken, together with a sandbox that runs their
// tests.
type bench struct {
	base string
	root string // the copy
	sb   sandbox.Sandbox
}

// openBench fetches a module and copies it.
func openBench(ctx context.Context, cfg Config, f Fact) (*bench, error) {
	from, err := cfg.Source(ctx, f.Module, f.Version)
	if err != nil {
		return nil, err
	}
	base, err := os.MkdirTemp("", "luthier-measure-")
	if err != nil {
		return nil, err
	}
	b := &bench{base: base, root: filepath.Join(base, "module")}
	if err := b.fill(ctx, from, f.Module); err != nil {
		return nil, errors.Join(err, os.RemoveAll(base))
	}
	return b, nil
}

func (b *bench) fill(ctx context.Context, from, path string) error {
	if err := copyModule(from, b.root, path); err != nil {
		return err
	}
	for _, dir := range []string{"bins", "covers"} {
		if err := os.Mkdir(filepath.Join(b.base, dir), 0o755); err != nil {
			return err
		}
	}
	var err error
	b.sb, err = sandbox.Local(ctx, sandbox.Config{
		Snapshot: sandbox.SnapshotDir(b.root), ReadOnly: []string{filepath.Join(b.base, "bins")}, Writable: []string{filepath.Join(b.base, "covers")},
		Floor: sandbox.TierNone, Limits: sandbox.Limits{Memory: 3 << 30, Processes: 512, FileSize: 256 << 20},
	})
	return err
}

func (b *bench) close() error { return errors.Join(b.sb.Close(), os.RemoveAll(b.base)) }

// config returns the configuration of package verify for this bench.
func (b *bench) config() verify.Config {
	return verify.Config{
		Env:     []string{"GOFLAGS=-mod=mod", "GOWORK=off", "GOTOOLCHAIN=local"},
		Scratch: filepath.Join(b.base, "bins"), Covers: filepath.Join(b.base, "covers"), Exec: b,
	}
}

// Exec implements [verify.Executor].
func (b *bench) Exec(ctx context.Context, dir string, args, env []string, timeout time.Duration) ([]byte, int, error) {
	exit, err := b.sb.Exec(ctx, sandbox.Cmd{Args: args, Dir: dir, Env: env, Timeout: timeout, MergeStderr: true})
	if err != nil {
		return nil, 0, err
	}
	return exit.Stdout.Bytes(), exit.Code, nil
}

// fetch returns the directory of a module in the module cache.
func fetch(ctx context.Context, path, version string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", path+"@"+version)
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	var got struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &got); jsonErr == nil && got.Error != "" {
		return "", fmt.Errorf("measure: fetch %s@%s: %s", path, version, got.Error)
	}
	if err != nil || got.Dir == "" {
		return "", fmt.Errorf("measure: fetch %s@%s: %w", path, version, err)
	}
	return got.Dir, nil
}

// copyModule makes a writable copy of a module, with a go.mod if it has none.
func copyModule(from, to, path string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return fmt.Errorf("measure: copy module: %w", err)
	}
	err := filepath.WalkDir(to, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(name, fi.Mode().Perm()|0o600)
	})
	if err != nil {
		return fmt.Errorf("measure: copy module: %w", err)
	}
	mod := filepath.Join(to, "go.mod")
	if _, err := os.Stat(mod); err == nil {
		return nil
	}
	return os.WriteFile(mod, []byte("module "+path+"\n\ngo 1.21\n"), 0o644)
}
