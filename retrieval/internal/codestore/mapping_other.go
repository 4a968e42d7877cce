//go:build !unix

package codestore

import (
	"errors"
	"os"
)

const canMap = false

func mapFile(*os.File, int64) ([]byte, func() error, error) {
	return nil, nil, errors.ErrUnsupported
}
