package tree

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// remote lists the types of file systems whose times come from another machine's clock (statfs(2)).
var remote = map[int64]bool{
	unix.NFS_SUPER_MAGIC: true, unix.SMB_SUPER_MAGIC: true, 0xff534d42: true /* CIFS */, 0xfe534d42: true, /* SMB2 */
	unix.FUSE_SUPER_MAGIC: true, unix.V9FS_MAGIC: true, unix.AFS_SUPER_MAGIC: true, unix.CEPH_SUPER_MAGIC: true, 0x0bd00bd0: true, /* Lustre */
}

// LocalClock reports whether the times of files in dir come from this machine's clock.
func LocalClock(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && !remote[int64(uint32(st.Type))]
}

// AwaitTick waits until changes of files get times after t. The kernel takes them from its last
// tick, which is some milliseconds old.
func AwaitTick(ctx context.Context, t time.Time) {
	for {
		var now unix.Timespec
		if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) != nil || time.Unix(now.Unix()).After(t) {
			return
		}
		if time.Until(t) > time.Second { // the clock was set back
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Millisecond):
		}
	}
}
