// Package treefd holds a workspace's tree open as a directory descriptor, so that the host reads
// and changes the files that commands see, without a path to them.
//
// A path of /proc/self/fd is no path to the tree: when it is resolved it names a directory of the
// host, and after a close another file. So it is used only in this package, while the descriptor is
// held.
package treefd
