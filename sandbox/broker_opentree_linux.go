package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// treeOptions are the options for passing part of the host's file system to a sandbox.
type treeOptions struct {
	readOnly bool
	device   bool // a device node, which must stay usable
	userNS   int  // user namespace that maps owners; zero means no mapping
	noFollow bool // open a final symbolic link itself
}

// opener is openTree, or a variant that resolves further places.
type opener func(path string, o treeOptions) (int, error)

// openTree returns a detached copy of the mounts at and below path, changed according to o. It
// needs CAP_SYS_ADMIN over the caller's mount namespace.
func openTree(path string, o treeOptions) (int, error) {
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE)
	if o.noFollow {
		flags |= unix.AT_SYMLINK_NOFOLLOW
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, flags)
	if err != nil {
		return -1, fmt.Errorf("open_tree: %w", err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID, Propagation: unix.MS_PRIVATE}
	if o.readOnly {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if !o.device {
		attr.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if o.userNS > 0 {
		attr.Attr_set |= unix.MOUNT_ATTR_IDMAP
		attr.Userns_fd = uint64(o.userNS)
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("mount_setattr: %w", err)
	}
	return fd, nil
}
