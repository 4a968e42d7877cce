package sandbox

import (
	"context"
	"testing"
	"time"
)

func TestQuick(t *testing.T) {
	sb, err := Local(context.Background(), Config{Dir: t.TempDir(), Floor: TierNone, Ceiling: TierNone})
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	for _, c := range [][]string{{"sh", "-c", "echo hi; echo err >&2; exit 3"}, {"sh", "-c", "setsid sleep 100 & sleep 101 & echo started"}, {"head", "-c", "1000000000", "/dev/zero"}, {"nope"}} {
		e, err := sb.Exec(t.Context(), Cmd{Args: c, Timeout: 5 * time.Second})
		if err != nil {
			t.Log(err)
			continue
		}
		t.Logf("%v %d %d %d %v %.30q", e, e.Stdout.Total, len(e.Stdout.Head), len(e.Stdout.Tail), e.Wall, e.Stdout.String())
	}
}
