package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

const sanitized = `#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *work(void *p) { return p; }
int main(int argc, char **argv) {
	pthread_t t;
	pthread_create(&t, 0, work, 0);
	pthread_join(t, 0);
	char *p = malloc(10);
	p[argc > 1 ? 10 : 0] = 'x';
	printf("%c\n", p[0]);
	free(p);
	return 0;
}
`

// TestSanitizers: programs built with sanitizers run, and find faults. A program does so even if it
// is run with options of its own. A limit of all memory does not keep them from starting.
//
// Evidence: sandbox · Programs built with the address and thread sanitizers run inside
func TestSanitizers(t *testing.T) {
	tier.Normal(t)
	need(t, "gcc")
	dir := t.TempDir()
	write(t, dir, "a.c", sanitized)
	var built []string
	for _, kind := range []string{"address", "thread", "leak", "undefined"} {
		cmd := exec.Command("gcc", "-g", "-fsanitize="+kind, "a.c", "-o", kind, "-lpthread")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("gcc cannot build with the %s sanitizer: %s", kind, out)
			continue
		}
		if exec.Command(filepath.Join(dir, kind)).Run() == nil { // some kernels do not suit some versions
			built = append(built, kind)
		}
	}
	isolated(t, func(t *testing.T, cfg Config) {
		cfg.Snapshot, cfg.Limits = SnapshotDir(dir), Limits{MemoryTotal: 2 << 30}
		sb := open(t, cfg)
		noted(t, sb)
		for _, kind := range built {
			if got := sh(t, sb, "./"+kind+" 2>&1; ASAN_OPTIONS=halt_on_error=1:detect_leaks=1 ./"+kind+" 2>&1"); got != "x\nx\n" {
				t.Errorf("%s: %q", kind, got)
			}
			if kind != "address" {
				continue
			}
			exit := mustExec(t, sb, Cmd{Args: []string{"./address", "beyond"}})
			if exit.Success() || !strings.Contains(exit.Stderr.String(), "heap-buffer-overflow") {
				t.Errorf("the fault is not found: %v, %s", exit, exit.Stderr)
			}
		}
	})
}

// TestLeakOptionsOfTheHost: the host's own options win.
func TestLeakOptionsOfTheHost(t *testing.T) {
	t.Setenv("LSAN_OPTIONS", "verbosity=1")
	for want, cfg := range map[string]Config{"detect_leaks=0": {}, "verbosity=1": {PassEnv: []string{"LSAN_OPTIONS"}}, "x=1": {Env: []string{"LSAN_OPTIONS=x=1"}}} {
		if got := sh(t, open(t, cfg), "echo $LSAN_OPTIONS"); got != want+"\n" {
			t.Errorf("LSAN_OPTIONS is %q, want %q", got, want)
		}
	}
	if os.Getenv("LSAN_OPTIONS") != "verbosity=1" {
		t.Error("the host's variable was changed")
	}
}
