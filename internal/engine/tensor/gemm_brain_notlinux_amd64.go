//go:build amd64 && !linux

package tensor

// allowTiles returns false: tiles are not used, because this package does not know how other
// systems enable them.
func allowTiles() bool { return false }
