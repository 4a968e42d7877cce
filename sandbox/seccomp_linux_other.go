//go:build linux && !amd64 && !arm64

package sandbox

// filterOptions are what differs between filters.
type filterOptions struct {
	sockets socketRule
	notify  bool
	writes  bool
}

type socketRule int

const (
	socketsConfined socketRule = iota
	socketsUnix
	socketsNone
)

// installFilter has no filter for this architecture; the report says so.
func installFilter(filterOptions) (int, error) { return -1, nil }

// notices has no listener here.
type notices struct{}

func watchNotices(*spec, func(pid int) uint64) *notices { return nil }

func (*notices) take(uint64) []Denial { return nil }

func (*supervisor) commandOf(int) uint64 { return 0 }

// hasFilter says that this architecture has a filter.
const hasFilter = false
