//go:build !unix

package remote

import (
	"io/fs"
	"os"
)

func own(*os.Root, string, fs.FileInfo) error { return nil }

func isNotDir(error) bool { return false }
