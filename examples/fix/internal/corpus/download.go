package corpus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Source is a module whose files are on this machine.
type Source struct {
	Module
	Dir string `json:"dir"` // root directory; for Std the src directory of GOROOT
}

// Download brings the modules into the module cache with `go mod download` and returns their
// locations, in the given order. Modules already there need no network. It returns an error if a
// module is not available, or if its checksum or licence differs from the one in the manifest.
func Download(ctx context.Context, ms []Module) ([]Source, error) {
	scratch, err := os.MkdirTemp("", "corpus")
	if err != nil {
		return nil, fmt.Errorf("corpus: download modules: %w", err)
	}
	defer os.RemoveAll(scratch)
	if err := os.WriteFile(filepath.Join(scratch, "go.mod"), []byte("module scratch\n"), 0o600); err != nil {
		return nil, fmt.Errorf("corpus: download modules: %w", err)
	}
	args := []string{"mod", "download", "-json"}
	for _, m := range ms {
		if m.Path != Std {
			args = append(args, m.Path+"@"+m.Version)
		}
	}
	got := map[string]downloaded{}
	if len(args) > 3 { // without arguments, go would look for the requirements of the scratch module itself
		out, runErr := goCommand(ctx, scratch, args...)
		if got, err = parseDownloads(out); err != nil {
			return nil, errors.Join(err, runErr)
		}
		if len(got) == 0 && runErr != nil {
			return nil, runErr
		}
	}
	root, err := goCommand(ctx, scratch, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	sources := make([]Source, len(ms))
	for i, m := range ms {
		sources[i] = Source{Module: m, Dir: filepath.Join(strings.TrimSpace(string(root)), "src")}
		if m.Path == Std {
			continue
		}
		if sources[i].Dir, err = got[m.Path].verify(m); err != nil {
			return nil, err
		}
	}
	return sources, nil
}

// downloaded is the output of `go mod download -json` for one module.
type downloaded struct{ Path, Version, Dir, Sum, Error string }

func parseDownloads(out []byte) (map[string]downloaded, error) {
	got := map[string]downloaded{}
	d := json.NewDecoder(bytes.NewReader(out))
	for {
		var one downloaded
		if err := d.Decode(&one); err == io.EOF {
			return got, nil
		} else if err != nil {
			return nil, fmt.Errorf("corpus: read the answer of go mod download: %w", err)
		}
		got[one.Path] = one
	}
}

func (d downloaded) verify(m Module) (dir string, err error) {
	switch {
	case d.Error != "":
		return "", fmt.Errorf("corpus: download %s@%s: %s", m.Path, m.Version, d.Error)
	case d.Dir == "":
		return "", fmt.Errorf("corpus: download %s@%s: go mod download did not mention it", m.Path, m.Version)
	case d.Version != m.Version || d.Sum != m.Sum:
		return "", fmt.Errorf("corpus: download %s@%s: got %s with checksum %s, the manifest has %s", m.Path, m.Version, d.Version, d.Sum, m.Sum)
	}
	licence, ok, err := Licence(d.Dir)
	if err != nil {
		return "", err
	}
	if !ok || licence != m.Licence {
		return "", fmt.Errorf("corpus: check licence of %s@%s: its files say %q, the manifest %q", m.Path, m.Version, licence, m.Licence)
	}
	return d.Dir, nil
}

func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("corpus: go %s: %w: %s", strings.Join(args[:2], " "), err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}
