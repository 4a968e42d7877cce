package treefd

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// hardened are the properties of every clone: the host executes nothing through it and opens no
// device.
const hardened = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC

// Clone returns a detached copy of the mount at dir and of the mounts below it. It resolves dir in
// the mount namespace of the calling thread, which must be allowed to mount there. No part of dir
// may be a symbolic link, and dir must be the top of a mount: whoever could move the directories
// above the mount cannot put others in its place.
func Clone(dir string) (int, error) {
	at, err := unix.Openat2(unix.AT_FDCWD, dir, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", dir, err)
	}
	defer unix.Close(at)
	var st unix.Statx_t
	if err := unix.Statx(at, "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS, &st); err != nil {
		return -1, fmt.Errorf("look at %s: %w", dir, err)
	}
	if st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0 {
		return -1, fmt.Errorf("%s is no longer the workspace: a command moved what is above it", dir)
	}
	fd, err := unix.OpenTree(at, "", unix.AT_EMPTY_PATH|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("open_tree: %w", err)
	}
	attr := unix.MountAttr{Attr_set: hardened, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("mount_setattr: %w", err)
	}
	return fd, nil
}

// Fence makes a clone read-only. It fails with EBUSY while a file is open for writing through it.
func Fence(fd int) error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		if errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("a file of the tree is open for writing: %w", err)
		}
		return fmt.Errorf("make the tree read-only: %w", err)
	}
	return nil
}
