//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"os"
)

// blank is a complete sandbox without a workspace; this system supports none.
type blank struct {
	uses int
}

var errAttach = errors.New("workspace cannot be attached")

func makeBlank(context.Context, *Config) (*blank, error)        { return nil, errors.ErrUnsupported }
func (*blank) attach(context.Context, Snapshot) (*local, error) { return nil, errors.ErrUnsupported }
func (*blank) recycle(context.Context) error                    { return errors.ErrUnsupported }
func (*blank) alive() bool                                      { return false }
func (*blank) holds(*local) bool                                { return false }
func (*blank) close() error                                     { return nil }

// fingerprintOf returns "" on this system, where sandboxes are not kept ready.
func fingerprintOf(string) string { return "" }

func fileState(os.FileInfo) string { return "" }
