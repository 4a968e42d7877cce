package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox/internal/treefd"
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

// tree returns a detached clone of a workspace as commands see it. It is not the sandbox's own
// mount, so that it can be made read-only while commands go on.
func (d *brokerd) tree(o *treeOrder) (*os.File, error) {
	if o == nil {
		return nil, errors.New("broker: incomplete order")
	}
	b := d.box(o.Key)
	if b == nil {
		return nil, fmt.Errorf("broker: open tree: %w", os.ErrProcessDone)
	}
	mnt, err := os.Open("/proc/" + strconv.Itoa(b.pid) + "/ns/mnt")
	if err != nil {
		return nil, fmt.Errorf("broker: open tree: %w", err)
	}
	defer mnt.Close()
	select {
	case <-b.gone: // the PID may have been reused
		return nil, fmt.Errorf("broker: open tree: %w", os.ErrProcessDone)
	default:
	}
	fd := -1
	err = d.mounter.do(func(t *mountThread) error {
		if err := t.prepare(); err != nil {
			return err
		}
		return t.visit(mnt, func() (err error) {
			fd, err = treefd.Clone(o.Dir)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("broker: open tree: %w", err)
	}
	return os.NewFile(uintptr(fd), "tree"), nil
}

// fence makes clones of tree read-only.
func fence(clones []*os.File) error {
	if len(clones) != 1 {
		return errors.New("broker: fence: no tree came")
	}
	return treefd.Fence(int(clones[0].Fd()))
}

// openTree has the broker open the tree at dir inside, and returns it as a view. at is a directory
// for a link that exists meanwhile.
func (g *guestSpawner) openTree(ctx context.Context, dir, at string) (*treefd.View, error) {
	sup, ok := g.sup.(*brokered)
	if !ok {
		return nil, errors.New("the sandbox was not made by a broker")
	}
	if !sup.b.enter() { // as long as the view is open, to fence it
		return nil, errBrokerGone
	}
	_, files, err := sup.b.ask(ctx, brokerRequest{Op: opTree, Tree: &treeOrder{Key: sup.key, Dir: dir}})
	if err == nil && len(files) != 1 {
		err = errors.New("the broker's answer is incomplete")
	}
	var root *os.Root
	if err == nil {
		root, err = treefd.OpenRoot(files[0], at)
	}
	if err != nil {
		closeFiles(files)
		sup.b.release()
		return nil, err
	}
	return &treefd.View{
		Root: root,
		Fence: func() error {
			_, _, err := sup.b.ask(context.Background(), brokerRequest{Op: opFence}, files[0])
			return err
		},
		Close: func() error {
			defer sup.b.release()
			return files[0].Close()
		},
	}, nil
}
