//go:build !unix

package coding

import (
	"io/fs"
	"os"
)

func keepOwner(*os.File, fs.FileInfo) error { return nil }

func linkCount(fs.FileInfo) int { return 1 }

func privateToUs(fs.FileInfo) bool { return true }

func isBusy(error) bool { return false }

func isReadOnlyFS(error) bool { return false }

func lockRoot(*os.Root) (unlock func()) { return func() {} }
