//go:build !linux

package tree

import (
	"errors"
	"os"
)

// cloneFile has no portable form; io.Copy uses what the system has.
func cloneFile(_, _ *os.File) error { return errors.ErrUnsupported }
