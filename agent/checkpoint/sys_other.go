//go:build !unix

package checkpoint

import "io/fs"

func identity(fs.FileInfo) (inode uint64, changed int64) { return 0, 0 }
