// Package realfix holds real one-line bug fixes of open-source Go modules and finds them.
//
// A fix is a line of one function that differs between two consecutive released versions of a
// module, and of which the newer version's own tests tell: they pass as the module is, and some of
// them fail when this line alone, and nothing else of the newer version, is put back to what it
// was. So every fix can be made again from the module proxy: the newer version, with one line of it
// replaced.
//
// The modules looked at (see [Modules]) are kept out of training.
package realfix

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

// Kinds of fixes.
const (
	Behaviour = "behaviour" // the program does something else
	Message   = "message"   // only what a message for people says differs, or a version number: not counted as a bug
)

// Fix is one line that was wrong in one version of a module and right in the next.
type Fix struct {
	Module  string // path
	From    string // the version that had the old line
	Version string // the next version, which has the new line, and whose tests tell them apart
	Licence string // SPDX

	Dir      string // the package's directory, relative to the module's root
	File     string // relative to the module's root
	Function string // as repair.Function names it
	FileLine int    // the line in the newer version's file, from 1
	Line     int    // the same, from the line of the func keyword
	SHA256   string // of the newer version's file, in hex

	Old, New string   // the two lines, without indentation
	Sole     bool     // nothing else in the function changed between the versions
	Tests    []string // top-level tests that fail with the old line and pass with the new one
	Kind     string   // Behaviour or Message
	Slip     string   `json:",omitempty"` // the kind of mutate's slip that makes the new line of the old one; empty: none does
}

// String names the fix: module@version file:line.
func (f Fix) String() string {
	return fmt.Sprintf("%s@%s %s:%d", f.Module, f.Version, f.File, f.FileLine)
}

//go:embed modules.txt
var modules string

//go:embed fixes.json
var fixes []byte

// Modules returns the paths of the modules whose versions are searched, sorted. None of them may be
// trained on.
func Modules() []string {
	var paths []string
	for line := range strings.Lines(modules) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			paths = append(paths, line)
		}
	}
	return paths
}

// Fixes returns the fixes found, sorted by module, version and place.
func Fixes() ([]Fix, error) {
	var all []Fix
	if err := json.Unmarshal(fixes, &all); err != nil {
		return nil, fmt.Errorf("realfix: read fixes.json: %w", err)
	}
	return all, nil
}
