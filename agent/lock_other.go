//go:build !unix

package agent

import "os"

// lockFile does nothing where the system has no advisory locks that end with the process.
func lockFile(*os.File) error { return nil }
