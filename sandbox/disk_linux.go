package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Almost no disk has quotas. The only kind of file system that an ordinary user may mount and whose
// size the kernel limits is tmpfs. The broker mounts it in a namespace that only one of its threads
// is in, and passes the host a descriptor. The mount is thus visible to nobody, and disappears when
// both have ended.

// makeDisk has the broker make a disk.
func makeDisk(ctx context.Context, l Limits) (*disk, error) {
	b, err := useBroker(ctx)
	if err != nil {
		return nil, err
	}
	r, files, err := b.ask(ctx, brokerRequest{Op: opDisk, Disk: &diskOrder{Size: l.Disk, Inodes: max(l.Inodes, 0)}})
	if err == nil && (len(files) != 1 || r.Disk == nil) {
		err = errors.New("the broker's answer is incomplete")
	}
	if err != nil {
		closeFiles(files)
		b.release()
		return nil, err
	}
	d := &disk{root: files[0], key: r.Disk.Key, size: r.Disk.Size, inodes: r.Disk.Inodes}
	d.dir = "/proc/self/fd/" + strconv.Itoa(int(d.root.Fd()))
	d.refs.Store(1)
	d.done = func() {
		_, _, _ = b.ask(context.Background(), brokerRequest{Op: opDisk, Disk: &diskOrder{Drop: d.key}}) // if the broker is dead, the disk is dropped anyway
		b.release()
	}
	return d, nil
}

// diskOrder asks for a disk to be made or dropped.
type diskOrder struct {
	Size, Inodes int64
	Drop         string // the key of a disk to drop; the other fields are then unused
}

// diskReply describes a new disk as its file system reports it.
type diskReply struct {
	Key          string
	Size, Inodes int64
}

// diskPrefix is the prefix of keys, and so of the paths that lead to a disk.
const diskPrefix = "disk:"

// disks holds the disks of a broker. The zero value is ready to use.
type disks struct {
	once sync.Once
	*mounter
	next int // used only by the thread
}

// in runs work on the thread whose namespace has the disks mounted.
func (ds *disks) in(work func() error) error {
	ds.once.Do(func() { ds.mounter = newMounter() })
	return ds.do(func(t *mountThread) error {
		if err := t.prepare(); err != nil {
			return err
		}
		return work()
	})
}

// serve makes or drops a disk.
func (ds *disks) serve(o *diskOrder) (out *diskReply, root *os.File, err error) {
	if o == nil {
		return nil, nil, errors.New("broker: incomplete order")
	}
	err = ds.in(func() (err error) {
		if o.Drop != "" {
			dropDisk(diskPath(o.Drop))
			return nil
		}
		ds.next++
		out = &diskReply{Key: diskPrefix + strconv.Itoa(ds.next)}
		root, err = out.mount(o)
		return err
	})
	return out, root, err
}

// mount makes the file system and opens its root.
func (r *diskReply) mount(o *diskOrder) (*os.File, error) {
	dir := diskPath(r.Key)
	if err := unix.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if err := unix.Mount("sandbox", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, tmpfsOptions("700", o.Size, o.Inodes)); err != nil {
		_ = unix.Rmdir(dir)
		return nil, fmt.Errorf("mount: %w", err)
	}
	root, err := r.look(dir)
	if err != nil {
		dropDisk(dir)
	}
	return root, err
}

func (r *diskReply) look(dir string) (*os.File, error) {
	// Overlays record what they hide in such attributes; tmpfs supports them from Linux 6.6.
	const mark = "user.overlay.luthier"
	if err := errors.Join(unix.Setxattr(dir, mark, []byte("y"), 0), unix.Removexattr(dir, mark)); err != nil {
		return nil, fmt.Errorf("tmpfs keeps no attributes of users' here: %w", err)
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return nil, err
	}
	r.Size, r.Inodes = int64(st.Blocks)*int64(st.Bsize), int64(st.Files)
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), r.Key), nil
}

func dropDisk(dir string) {
	_ = unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	_ = unix.Rmdir(dir)
}

// diskPath converts a path that begins with a disk's key to the real path, which exists only in the
// mount namespace of the disks' thread (see disks.in).
func diskPath(path string) string { return "/" + strings.TrimPrefix(path, diskPrefix) }

// open is openTree, also for paths on disks.
func (ds *disks) open(path string, o treeOptions) (fd int, err error) {
	if !strings.HasPrefix(path, diskPrefix) {
		return openTree(path, o)
	}
	err = ds.in(func() error {
		fd, err = openTree(diskPath(path), o)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w (it may have been another broker's)", err)
	}
	return fd, err
}

// keyed rewrites the plan's paths on a disk so that the broker finds them.
func (p *plan) keyed(d *disk) {
	if d == nil {
		return
	}
	for i := range p.mounts {
		m := &p.mounts[i]
		m.Source, m.Upper = d.keyed(m.Source), d.keyed(m.Upper)
		for j := range m.Below {
			m.Below[j] = d.keyed(m.Below[j])
		}
	}
}
