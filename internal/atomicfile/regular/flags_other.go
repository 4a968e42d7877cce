//go:build !unix

package regular

// On Windows pipes are not in directories, so an open cannot wait for one.
const (
	nonblock = 0
	onlyDir  = 0
)

func noReader(error) bool { return false }
