// Package realfix finds real one-line bug fixes in open-source Go modules, and contains those that
// were found.
//
// A fix is a line of one function that differs between two consecutive released versions of a
// module, and that the newer version's own tests detect: they pass with the unchanged module, and
// some of them fail if only this line of the newer version is reverted. So every fix can be
// reproduced from the module proxy: the newer version, with one line replaced.
//
// The modules searched (see [Modules]) are kept out of training.
package realfix

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

// Kinds of fixes.
const (
	Behaviour = "behaviour" // the program behaves differently
	Message   = "message"   // only a message for people or a version number differs, which is not counted as a bug
)

// Fix is one line that was wrong in one version of a module and right in the next.
type Fix struct {
	Module  string // path
	From    string // the version that had the old line
	Version string // the next version, which has the new line, and whose tests distinguish the two
	Licence string // SPDX

	Dir      string // the package's directory, relative to the module's root
	File     string // relative to the module's root
	Function string // as repair.Function names it
	FileLine int    // the line in the newer version's file, from 1
	Line     int    // line in the function, from 1 at the func keyword
	SHA256   string // SHA-256 of the newer version's file, in hex

	Old, New string   // the two lines, without indentation
	Sole     bool     // nothing else in the function changed between the versions
	Tests    []string // top-level tests that fail with the old line and pass with the new one
	Kind     string   // Behaviour or Message
	Slip     string   `json:",omitempty"` // the kind of slip in package mutate that turns the old line into the new one; empty if there is none
}

// String identifies the fix: module@version file:line.
func (f Fix) String() string {
	return fmt.Sprintf("%s@%s %s:%d", f.Module, f.Version, f.File, f.FileLine)
}

//go:embed modules.txt
var modules string

//go:embed fixes.json
var fixes []byte

// Modules returns the paths of the modules whose versions are searched, sorted. None of them may be
// used for training.
func Modules() []string {
	var paths []string
	for line := range strings.Lines(modules) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			paths = append(paths, line)
		}
	}
	return paths
}

// Fixes returns the fixes found, sorted by module, version and position.
func Fixes() ([]Fix, error) {
	var all []Fix
	if err := json.Unmarshal(fixes, &all); err != nil {
		return nil, fmt.Errorf("realfix: read fixes.json: %w", err)
	}
	return all, nil
}
