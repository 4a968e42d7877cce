package realfix

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"golang.org/x/mod/semver"
)

// Release is a released version of a module, unpacked.
type Release struct {
	Version string
	Dir     string // directory in the module cache, which must not be changed
}

// Releases returns the newest releases of a module, at most limit, oldest first, fetched through
// the module proxy. The parameter dir is a directory with a go.mod file, in which the go command is
// run. Versions that are not available are left out.
func Releases(ctx context.Context, dir, module string, limit int) ([]Release, error) {
	out, err := goCommand(ctx, dir, "list", "-m", "-versions", "-json", module)
	if err != nil {
		return nil, fmt.Errorf("realfix: list versions of %s: %w", module, err)
	}
	var listed struct{ Versions []string }
	if err := json.Unmarshal(out, &listed); err != nil {
		return nil, fmt.Errorf("realfix: list versions of %s: %w", module, err)
	}
	args := []string{"mod", "download", "-json"}
	for _, v := range listed.Versions {
		if semver.Prerelease(v) == "" {
			args = append(args, module+"@"+v)
		}
	}
	if len(args) == 3 {
		return nil, nil
	}
	if len(args)-3 > limit {
		args = append(args[:3:3], args[len(args)-limit:]...)
	}
	out, err = goCommand(ctx, dir, args...)
	var releases []Release
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var r struct{ Version, Dir, Error string }
		if e := d.Decode(&r); errors.Is(e, io.EOF) {
			break
		} else if e != nil {
			return nil, fmt.Errorf("realfix: fetch %s: %w", module, errors.Join(e, err))
		}
		if r.Error == "" && r.Dir != "" {
			releases = append(releases, Release{r.Version, r.Dir})
		}
	}
	if len(releases) == 0 && err != nil {
		return nil, fmt.Errorf("realfix: fetch %s: %w", module, err)
	}
	return releases, nil
}

// goCommand runs the go command and returns its output, even if it fails.
func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return out, err
}
