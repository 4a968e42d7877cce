//go:build !linux

package tree

import (
	"errors"
	"os"
)

// cloneFile has no portable implementation; io.Copy uses what the system offers.
func cloneFile(_, _ *os.File) error { return errors.ErrUnsupported }
