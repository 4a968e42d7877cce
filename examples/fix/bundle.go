package main

import (
	"embed"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// broken is a small module with one wrong line. The file names end in .txt because a directory with
// a go.mod cannot be embedded.
//
//go:embed broken/*.txt
var broken embed.FS

// bundled writes the broken module into a new directory.
func bundled() (string, error) {
	dir, err := os.MkdirTemp("", "luthier-broken-")
	if err != nil {
		return "", err
	}
	files, err := broken.ReadDir("broken")
	if err != nil {
		return "", err
	}
	for _, f := range files {
		data, err := broken.ReadFile(path.Join("broken", f.Name()))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, strings.TrimSuffix(f.Name(), ".txt")), data, 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}
