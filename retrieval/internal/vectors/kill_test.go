//go:build unix

package vectors

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
)

const childEnv = "LUTHIER_VECTORS_CHILD"

// killRows is the number of rows that the child appends at a time.
const killRows = 40

// TestKilled kills a process at many moments while it appends, deletes and tidies. Vectors that
// were reported as stored must still be there afterwards, with the correct values, and the next
// process must be able to continue with the same file.
//
// Evidence: retrieval · Stored vectors survive a kill
func TestKilled(t *testing.T) {
	if path := os.Getenv(childEnv); path != "" {
		child(path)
		return
	}
	path := filepath.Join(t.TempDir(), "killed.vectors")
	r := random(6)
	acknowledged := 0
	rounds := tier.Pick(4, 12, 25)
	for round := range rounds {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), childEnv+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for enough := r.IntN(6); lines.Scan() && enough > 0; enough-- {
			if n, err := strconv.Atoi(lines.Text()); err == nil {
				acknowledged = max(acknowledged, n)
			}
		}
		time.Sleep(time.Duration(r.IntN(4000)) * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // its output before it died
			if n, err := strconv.Atoi(lines.Text()); err == nil {
				acknowledged = max(acknowledged, n)
			}
		}
		_ = cmd.Wait() // killed
		checkKilled(t, path, round, acknowledged)
	}
	t.Logf("%d vectors were acknowledged", acknowledged)
	if acknowledged < 20*rounds {
		t.Errorf("only %d vectors were written in all", acknowledged)
	}
}

// child appends vectors and prints the number stored, until it is killed. Now and then it deletes
// other vectors, and rewrites the file.
func child(path string) {
	s, err := Open(path, Config{Model: "test 1"})
	if err != nil {
		fmt.Println("open:", err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		n, err := stored(s)
		if err == nil {
			err = s.Append(keys(n, n+killRows), killVectors(n, n+killRows))
		}
		if other := keys(1_000_000+n, 1_000_000+n+10); err == nil && i%5 == 1 {
			err = errors.Join(s.Append(other, killVectors(0, 10)), s.Delete(other))
		}
		if err == nil && i%3 == 2 {
			s.write.Lock()
			err = s.rewrite(context.Background())
			s.write.Unlock()
		}
		if err != nil {
			fmt.Println("write:", err)
			os.Exit(1)
		}
		fmt.Println(n + killRows)
	}
}

// stored returns the number of consecutive vectors, counted from the first, that the store has.
func stored(s *Store) (int, error) {
	missing, err := s.Select(keys(0, 20_000)).Missing()
	if err != nil || len(missing) == 0 {
		return 0, errors.Join(err, errors.New("more than expected"))
	}
	return missing[0], nil
}

// killVectors returns the vectors of texts lo to hi.
func killVectors(lo, hi int) (all [][]float32) {
	for i := lo; i < hi; i++ {
		all = append(all, gauss(random(uint64(i)), 128, 1))
	}
	return all
}

// checkKilled checks the file that a killed process left.
func checkKilled(t *testing.T, path string, round, acknowledged int) {
	t.Helper()
	s, err := Open(path, Config{Model: "test 1"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n, err := stored(s)
	if err != nil {
		t.Fatal(err)
	}
	st := s.Status()
	if n < acknowledged || n%killRows != 0 || st.Note != "" || st.Lost != 0 {
		t.Fatalf("round %d: %d vectors are left, %d were acknowledged: %+v", round, n, acknowledged, st)
	}
	if n == 0 {
		return
	}
	set, all := s.Select(keys(0, n)), killVectors(0, n)
	for range 3 {
		query := gauss(random(uint64(round)), 128, 1)
		got := search(t, set, query, 10)
		for i := range got {
			got[i].IDs = nil
		}
		if d := cmp.Diff(naive(t, keys(0, n), all, query, 10), got); d != "" {
			t.Fatalf("round %d (-want +got):\n%s", round, d)
		}
	}
}
