package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// peers returns the installed programs that run a command in new namespaces, each set up to run
// /bin/true. Programs that do not work here are left out.
func peers(b *testing.B) map[string]func() {
	b.Helper()
	commands := map[string][]string{
		"bwrap": {"bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
			"--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "/bin/true"},
		"crun": {"crun", "--cgroup-manager=disabled", "run", "--bundle", ociBundle(b, "crun")},
		"runc": {"runc", "run", "--bundle", ociBundle(b, "runc")},
	}
	out := map[string]func(){}
	n := 0
	for name, args := range commands {
		run := func() error {
			args := args
			if name != "bwrap" {
				n++
				args = append(args, fmt.Sprintf("luthier-bench-%d-%d", os.Getpid(), n))
			}
			return exec.Command(args[0], args[1:]...).Run()
		}
		if err := run(); err != nil {
			b.Logf("%s: left out: %v", name, err)
			continue
		}
		out[name] = func() {
			if err := run(); err != nil {
				b.Fatalf("%s: %v", name, err)
			}
		}
	}
	return out
}

// ociBundle makes a bundle from the runtime's own template, with the host's programs in its root.
// It returns "" if the runtime is not installed.
func ociBundle(b *testing.B, runtime string) string {
	b.Helper()
	dir := b.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "rootfs"), 0o755); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(runtime, "spec")
	cmd.Dir = dir
	if cmd.Run() != nil {
		return ""
	}
	var config map[string]any
	name := filepath.Join(dir, "config.json")
	if err := json.Unmarshal([]byte(read(b, name)), &config); err != nil {
		b.Fatal(err)
	}
	process := config["process"].(map[string]any)
	process["args"], process["terminal"] = []string{"/bin/true"}, false
	config["root"] = map[string]any{"path": "rootfs", "readonly": true}
	mounts := config["mounts"].([]any)
	for _, d := range []string{"/usr", "/bin", "/lib", "/lib64"} {
		if real, err := filepath.EvalSymlinks(d); err == nil {
			mounts = append(mounts, map[string]any{"destination": d, "type": "bind", "source": real, "options": []string{"rbind", "ro"}})
		}
	}
	config["mounts"] = mounts
	text, err := json.Marshal(config)
	if err != nil {
		b.Fatal(err)
	}
	write(b, dir, "config.json", string(text))
	return dir
}
