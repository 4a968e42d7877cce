//go:build !unix

package coding

import (
	"io/fs"
	"os"
)

func keepOwner(*os.File, fs.FileInfo) {}

func isReadOnlyFS(error) bool { return false }

func lockRoot(*os.Root) (unlock func()) { return func() {} }
