package corpus

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/module"
)

//go:embed manifest.json
var manifest []byte

// Split is the use of a module: training or evaluation.
type Split string

const (
	Train   Split = "train"   // its functions are trained on
	HeldOut Split = "heldout" // never trained on; used to evaluate the model
)

// Std is the path under which the standard library is listed. It is not downloaded: the running
// toolchain's copy is read.
const Std = "std"

// Module is one source of functions.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Licence string `json:"licence"`         // SPDX expression, from Classify
	Sum     string `json:"sum,omitempty"`   // the h1: checksum of the module's zip file; empty for Std
	Split   Split  `json:"split"`           //
	Fixes   bool   `json:"fixes,omitempty"` // held out because real bug fixes are taken from its history
}

// Manifest returns the modules of the corpus, sorted by path.
func Manifest() ([]Module, error) { return ParseManifest(manifest) }

var sum = regexp.MustCompile(`^h1:[A-Za-z0-9+/]{43}=$`)

// ParseManifest reads a list of modules and checks it: known fields only, valid paths and versions,
// permissive licences, checksums, a split for each module, no duplicates, sorted by path, and no
// repository on both sides of the split.
func ParseManifest(data []byte) ([]Module, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var ms []Module
	if err := d.Decode(&ms); err != nil {
		return nil, fmt.Errorf("corpus: read manifest: %w", err)
	}
	sides := map[string]Split{}
	for i, m := range ms {
		if err := m.check(); err != nil {
			return nil, fmt.Errorf("corpus: check manifest: entry %d: %w", i, err)
		}
		if i > 0 && ms[i-1].Path >= m.Path {
			return nil, fmt.Errorf("corpus: check manifest: entry %d: %s is listed after %s; sort by path, each once", i, m.Path, ms[i-1].Path)
		}
		repo := Repository(m.Path)
		if side, ok := sides[repo]; ok && side != m.Split {
			return nil, fmt.Errorf("corpus: check manifest: entry %d: repository %s is on both sides of the split", i, repo)
		}
		sides[repo] = m.Split
	}
	return ms, nil
}

func (m Module) check() error {
	switch {
	case m.Split != Train && m.Split != HeldOut:
		return fmt.Errorf("%s: split %q is neither %q nor %q", m.Path, m.Split, Train, HeldOut)
	case m.Fixes && m.Split == Train:
		return fmt.Errorf("%s: real bug fixes are taken from a module trained on", m.Path)
	case !Permissive(m.Licence):
		return fmt.Errorf("%s: licence %q is not one that this corpus takes", m.Path, m.Licence)
	case m.Path == Std:
		return nil
	case !sum.MatchString(m.Sum):
		return fmt.Errorf("%s: checksum %q is not of the form h1:…=", m.Path, m.Sum)
	}
	return module.Check(m.Path, m.Version)
}

var major = regexp.MustCompile(`(/v[0-9]+|\.v[0-9]+)$`)

// Repository returns the repository of a module path, without a major version: github.com/a/b for
// github.com/a/b/sub/v2. In this corpus, hosts other than GitHub and golang.org have one module per
// repository.
func Repository(path string) string {
	path = major.ReplaceAllString(path, "")
	parts := strings.Split(path, "/")
	if (parts[0] == "github.com" || parts[0] == "golang.org") && len(parts) > 3 {
		parts = parts[:3]
	}
	return strings.Join(parts, "/")
}

// Owner returns the part of a module path that identifies a person or organisation: github.com/a
// for github.com/a/b, the host for vanity domains, and the whole repository for gopkg.in, whose
// paths name no owner.
func Owner(path string) string {
	repo := Repository(path)
	host, rest, _ := strings.Cut(repo, "/")
	switch host {
	case "github.com":
		owner, _, _ := strings.Cut(rest, "/")
		return host + "/" + owner
	case "gopkg.in":
		return repo
	}
	return host
}

// Of returns the modules on one side of the split.
func Of(ms []Module, side Split) []Module {
	return slices.DeleteFunc(slices.Clone(ms), func(m Module) bool { return m.Split != side })
}
