//go:build !unix && !windows

package codestore

import (
	"errors"
	"os"
)

// tryLock knows no lock here, so that the store stays in memory.
func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }
