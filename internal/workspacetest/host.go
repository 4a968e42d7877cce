package workspacetest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostState describes everything in a directory of the host, with what no sandbox may change: the
// content and all that stat reports but the time of the last access. A clone may share the objects
// of the repository by hard links, which shows in the number of links and the time of the last
// change of the inode.
func hostState(t testing.TB, dir string, caps Caps) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(name)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%v %d bytes %v", info.Mode(), info.Size(), info.ModTime().UnixNano())
		if !caps.Commit || !strings.Contains(name, "/.git/objects/") {
			text += " " + statText(info)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(name)
			if err != nil {
				return err
			}
			text += " -> " + to
		} else if info.Mode().IsRegular() {
			f, err := os.Open(name)
			if err != nil {
				return err
			}
			sum, err := hash(f)
			f.Close()
			if err != nil {
				return err
			}
			text += " " + sum
		}
		rel, err := filepath.Rel(dir, name)
		out[rel] = text
		return err
	}))
	return out
}
