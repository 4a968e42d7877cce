//go:build amd64 && !linux

package tensor

// allowTiles returns false: tiles are not used, because it is not known how other systems enable
// them.
func allowTiles() bool { return false }
