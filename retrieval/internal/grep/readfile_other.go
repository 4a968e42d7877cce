//go:build !unix

package grep

import (
	"io"
	"slices"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

func readFile(path string, buf []byte) ([]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, cap(buf)+4096)
		}
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
