package attacks_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox"
)

// TestAttackFindings runs attacks that once succeeded, and variations of them.
func TestAttackFindings(t *testing.T) {
	t.Parallel()
	runAttacks(t, "findings")
}

func init() {
	attacks["findings"] = []attack{
		{name: "kill the supervisor", does: "sends process 1 every signal", alone: true, noControl: "process 1 is the machine's", want: "ok",
			prog: attackProgram("kill-init", func([]string) error {
				for sig := 1; sig < 65; sig++ {
					_ = unix.Kill(1, syscall.Signal(sig))
				}
				return nil
			}), bit: sandboxGone},
		{name: "list of keys", does: "copies /proc/keys, which names the user's keys", prog: "sh", want: "ok|status 1", bit: secretOut,
			args: func(b *bed) []string {
				b.secret = b.key()
				return []string{"cat /proc/keys > loot"}
			}},
		{name: "huge file exported", does: "leaves a sparse file of 2 GB, which Export goes on to write when its context has ended", noControl: "it is about Export",
			play: func(b *bed) {
				write(b.t, b.dir, "file", "text\n")
				sb := open(b.t, sandbox.Config{Snapshot: sandbox.SnapshotDir(b.dir)})
				sh(b.t, sb, "truncate -s 2G huge")
				out := b.t.TempDir()
				ctx, cancel := context.WithCancel(b.t.Context())
				cancel()
				_, err := sb.(sandbox.Exporter).Export(ctx, sandbox.ExportOptions{Dir: out})
				b.told, b.ending = fmt.Sprint(err), "ok"
				b.state["made"] = out + "/huge"
			}, bit: func(b *bed) string { return there(b.state["made"].(string)) }},
	}
}
