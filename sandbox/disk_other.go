//go:build !linux

package sandbox

import (
	"context"
	"errors"
)

func makeDisk(context.Context, Limits) (*disk, error) {
	return nil, errors.New("there is none on this system")
}
