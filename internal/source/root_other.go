//go:build !linux

package source

import "os"

func (r *Root) open(name string) (*os.File, error) { return r.openSlowly(name) }
