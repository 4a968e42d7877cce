package sandbox

import (
	"context"
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Init()
	os.Exit(m.Run())
}

func TestQuick(t *testing.T) {
	tier, _ := ParseTier(os.Getenv("TIER"))
	sb, err := Local(context.Background(), Config{Dir: t.TempDir(), Floor: tier, Ceiling: tier})
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	t.Log(sb.Isolation())
	for _, c := range [][]string{{"sh", "-c", "echo hi; echo err >&2; exit 3"}, {"sh", "-c", "setsid sleep 100 & sleep 101 & echo started"}, {"head", "-c", "1000000000", "/dev/zero"}, {"nope"}, {"sh", "-c", "id; pwd; ls -la / ~ . /tmp /dev /proc/self/fd; cat /proc/1/status /etc/shadow; ip a; env; mount; touch a /b; ls -l a; ps axf; python3 -c print\\(1\\); go version; go env GOCACHE; ls $GOCACHE|head -3"}} {
		e, err := sb.Exec(t.Context(), Cmd{Args: c, Timeout: 5 * time.Second})
		if err != nil {
			t.Log(err)
			continue
		}
		t.Logf("%v %d %d %d %v %s", e, e.Stdout.Total, len(e.Stdout.Head), len(e.Stdout.Tail), e.Wall, e.Stdout.String())
	}
}
