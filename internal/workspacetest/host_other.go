//go:build !linux

package workspacetest

import "os"

func statText(os.FileInfo) string { return "" }
