//go:build linux && !amd64 && !arm64

package sandbox

import "os"

// filterOptions are the differences between filters.
type filterOptions struct {
	sockets socketRule
	notify  bool
	files   bool
	writes  bool
}

type socketRule int

const (
	socketsConfined socketRule = iota
	socketsUnix
	socketsNone
)

// installFilter installs nothing: there is no filter for this architecture, and the report says so.
func installFilter(filterOptions) (int, error) { return -1, nil }

func (*script) installFilter(filterOptions) {}

type filterCache struct{}

func (*refusals) watch(_ *spec, _ int, listener *os.File) error { return listener.Close() }

func (*box) watchNotices(_ *spec, listener *os.File) error { return listener.Close() }

// hasFilter reports whether this architecture has a filter.
const hasFilter = false
