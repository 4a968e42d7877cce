package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asProgram names the environment variable that makes the test binary behave as the program under
// test.
const asProgram = "LUTHIER_EXAMPLE_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" || (len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "-luthier-sandbox-stage")) {
		main()
		return
	}
	os.Exit(m.Run())
}

func program(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var out, errs strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if strings.Contains(errs.String(), "no isolation of the required tier") {
		t.Skipf("this host does not grant the tier: %s", errs.String())
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestProgram(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("original\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		stdin  string
		args   []string
		status int
		stdout string
		stderr string // a text that it contains
	}{
		{"input and output", "hi", []string{"-dir", dir, "--", "cat"}, 0, "hi", ""},
		{"status", "", []string{"-dir", dir, "--", "sh", "-c", "echo e >&2; exit 9"}, 9, "", "e\n"},
		{"timeout", "", []string{"-dir", dir, "-timeout", "300ms", "--", "sleep", "60"}, 124, "", "timeout"},
		{"network", "", []string{"-dir", dir, "-v", "-net", "example.com,*.example.com", "--", "sh", "-c", "echo ${https_proxy%:*}"}, 0, "http://127.0.0.1\n", "example.com"},
		{"bad network", "", []string{"-dir", dir, "-net", "1.2.3.4", "--", "true"}, 125, "", "IP address"},
		{"disk", "", []string{"-dir", dir, "-disk", "2M", "--", "sh", "-c", "head -c 9000000 /dev/zero > big; wc -c < big"}, 0, "2097152\n", "No space left on device"},
		{"bad disk", "", []string{"-dir", dir, "-disk", "much", "--", "true"}, 125, "", "-disk"},
		{"no command", "", []string{"-dir", dir}, 125, "", "usage"},
		{"no directory", "", []string{"-dir", dir + "/missing", "--", "true"}, 125, "", "missing"},
		{"bad size", "", []string{"-dir", dir, "-mem", "lots", "--", "true"}, 125, "", "-mem"},
		{"not found", "", []string{"-dir", dir, "--", "no-such-program"}, 127, "", "no-such-program"},
		{"limits", "", []string{"-dir", dir, "-mem-process", "64M", "-mem-total", "1G", "-processes", "99", "-cpu", "1.5", "-disk", "8M", "-inodes", "2000", "-v", "--", "true"}, 0, "", "files on disk"},
		{"process memory", "", []string{"-dir", dir, "-mem-process", "64M", "--", "sh", "-c", "ulimit -d"}, 0, "65536\n", ""},
		{"processes", "", []string{"-dir", dir, "-processes", "99", "--", "sh", "-c", "ulimit -u 2>/dev/null || ulimit -p"}, 0, "99\n", ""},
		{"all memory", "", []string{"-dir", dir, "-mem-total", "100M", "--", "sh", "-c", "x=$(head -c 300000000 /dev/zero | tr '\\0' a); echo survived"}, 137, "", ""},
		{"inodes", "", []string{"-dir", dir, "-disk", "8M", "-inodes", "1200", "--", "sh", "-c", "mkdir d; for i in $(seq 1500); do : >d/$i; done"}, 2, "", "No space left on device"},
		{"inodes without disk", "", []string{"-dir", dir, "-inodes", "100", "--", "true"}, 125, "", "needs Disk"},
		{"bad total", "", []string{"-dir", dir, "-mem-total", "lots", "--", "true"}, 125, "", "-mem-total"},
		{"unprotect without in place", "", []string{"-dir", dir, "-unprotect", ".git", "--", "true"}, 125, "", "-inplace"},
		{"unprotect what is not protected", "", []string{"-dir", dir, "-inplace", "-unprotect", "f", "--", "true"}, 125, "", "Unprotect"},
		{"old name of the memory limit", "", []string{"-dir", dir, "-mem", "64M", "--", "sh", "-c", "ulimit -d"}, 0, "65536\n", ""},
		{"report", "", []string{"-v", "-dir", dir, "--", "sh", "-c", "echo n > f"}, 0, "", "modified f"},
		{"not in place", "", []string{"-dir", dir, "--", "cat", "f"}, 0, "original\n", ""},
		{"in place", "", []string{"-inplace", "-dir", dir, "--", "sh", "-c", "echo changed > f"}, 0, "", ""},
		{"after in place", "", []string{"-dir", dir, "--", "cat", "f"}, 0, "changed\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, stdout, stderr := program(t, tt.stdin, tt.args...)
			if status != tt.status || stdout != tt.stdout || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("status %d, want %d; stdout %q, want %q; stderr %q, want %q in it", status, tt.status, stdout, tt.stdout, stderr, tt.stderr)
			}
		})
	}
}

// TestCommitInPlace: a commit in place fails with the flag that lets it, and works with it, while
// hooks stay as they are.
func TestCommitInPlace(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=e@example.com"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	git("config", "user.name", "n")
	git("config", "user.email", "e@example.com")
	commit := []string{"-inplace", "-dir", dir, "--", "git", "commit", "-q", "--allow-empty", "-m", "one"}
	if status, _, stderr := program(t, "", commit...); status == 0 || !strings.Contains(stderr, `Config.Unprotect: ".git"`) || !strings.Contains(stderr, "-unprotect") {
		t.Errorf("status %d, %s", status, stderr)
	}
	if status, _, stderr := program(t, "", append([]string{"-unprotect", ".git"}, commit...)...); status != 0 {
		t.Fatalf("with -unprotect: status %d, %s", status, stderr)
	}
	if got := git("log", "--format=%s"); got != "one\n" {
		t.Errorf("log %q", got)
	}
	hook := []string{"-unprotect", ".git", "-inplace", "-dir", dir, "--", "sh", "-c", "echo x >.git/hooks/post-commit"}
	if status, _, stderr := program(t, "", hook...); status == 0 || !strings.Contains(stderr, ".git/hooks") {
		t.Errorf("a hook was written: status %d, %s", status, stderr)
	}
}

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{"1": 1, "512M": 512 << 20, "2g": 2 << 30, "4KiB": 4 << 10, "3MB": 3 << 20, "": 0, "-1": 0, "x": 0, "9999999999G": 0} {
		got, err := parseSize("-mem", in)
		if got != want || (err != nil) != (want == 0) {
			t.Errorf("parseSize(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
}
