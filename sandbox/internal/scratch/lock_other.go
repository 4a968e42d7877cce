//go:build !linux

package scratch

import (
	"errors"
	"io/fs"
	"os"
)

// Systems without a broker never sweep, so nothing needs a mark.
func lockDir(string) (*os.File, error)  { return nil, nil }
func takeOver(string) (*os.File, error) { return nil, errors.ErrUnsupported }
func ownedByUs(fs.FileInfo) bool        { return false }
