//go:build !unix

package layers

import (
	"errors"
	"io/fs"
	"os"
)

const bootPrefix = "boot-"

func lockable() error {
	return errors.New("layers need a Unix system's file locks; leave Config.Layers empty")
}
func lockShared(*os.File) error  { return errors.ErrUnsupported }
func lockAlone(*os.File) bool    { return false }
func privateTo(fs.FileInfo) bool { return false }
func bootName() string           { return bootPrefix + "any" }
