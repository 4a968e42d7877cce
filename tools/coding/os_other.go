//go:build !unix

package coding

import (
	"context"
	"io/fs"
	"os"
)

func keepOwner(*os.File, fs.FileInfo) error { return nil }

func linkCount(fs.FileInfo) int { return 1 }

func privateToUs(fs.FileInfo) bool { return true }

func isBusy(error) bool { return false }

func isReadOnlyFS(error) bool { return false }

func lockRoot(context.Context, *os.Root) (unlock func(), err error) { return func() {}, nil }
