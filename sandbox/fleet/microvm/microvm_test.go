package microvm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/fleet"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

// socket makes a Unix socket with a short path that is closed when the test ends.
func socket(t *testing.T) (string, net.Listener) {
	dir, err := os.MkdirTemp("", "vm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Skipf("no Unix sockets here: %v", err)
	}
	t.Cleanup(func() { l.Close() })
	return path, l
}

// guest runs the agent with commands that really run, outside of any machine.
func guest(t *testing.T, l net.Listener) {
	sb, err := sandbox.Local(t.Context(), sandbox.Config{Dir: t.TempDir(), Floor: sandbox.TierNone, Ceiling: sandbox.TierNone, ScratchDir: os.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ServeGuest(ctx, l, sb) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		sb.Close()
	})
}

// vsock provides a guest's port in the way Firecracker does.
func vsock(t *testing.T, port uint32, agent string) string {
	path, l := socket(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				line, _ := r.ReadString('\n')
				if line != fmt.Sprintf("CONNECT %d\n", port) {
					return // as if nobody listened on the port
				}
				in, err := net.Dial("unix", agent)
				if err != nil {
					return
				}
				defer in.Close()
				// The answer and the agent's first bytes may arrive in one piece.
				fmt.Fprint(conn, "OK 1073741824\n")
				go func() { _, _ = r.WriteTo(in); in.(*net.UnixConn).CloseWrite() }()
				_, _ = bufio.NewReader(in).WriteTo(conn)
			}()
		}
	}()
	return path
}

// commands tests a box whose commands really run.
func commands(t *testing.T, b fleet.Box) {
	t.Helper()
	cmd := sandbox.Cmd{Args: []string{"sh", "-c", "cat; echo $A; exit 3"}, Env: []string{"A=b"}, Stdin: strings.NewReader("in ")}
	exit, err := b.Exec(t.Context(), cmd)
	if err != nil || exit.Code != 3 || exit.Stdout.String() != "in b\n" {
		t.Fatalf("%+v, %v", exit, err)
	}
	if len(exit.Isolation.Walls) == 0 || exit.Isolation.Tier == sandbox.TierNone {
		t.Errorf("isolation %+v is the guest's word", exit.Isolation)
	}
	if _, err := b.Exec(t.Context(), sandbox.Cmd{Args: []string{"no-such-program"}}); err == nil {
		t.Error("a program that is not there was run")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := b.Exec(ctx, sandbox.Cmd{Args: []string{"sleep", "1000"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a command whose context ended: %v", err)
	}
}

func TestFirecracker(t *testing.T) {
	api, l := socket(t)
	agent, al := socket(t)
	guest(t, al)
	var mu sync.Mutex
	var got []string
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.Header.Get("Content-Type") != "application/json" {
			http.Error(w, `{"fault_message":"not JSON"}`, http.StatusBadRequest)
			return
		}
		b, _ := json.Marshal(body)
		mu.Lock()
		got = append(got, fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, b))
		mu.Unlock()
		if body["kernel_image_path"] == "/none" {
			http.Error(w, `{"fault_message":"The kernel file cannot be opened"}`, http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})}
	go srv.Serve(l)
	defer srv.Close()

	cfg := Firecracker{APISocket: api, Kernel: "/vmlinux", KernelArgs: "console=ttyS0", RootFS: "/root.ext4", ReadOnly: true,
		VCPUs: 2, MemoryMiB: 256, VsockPath: vsock(t, 52, agent), Port: 52, CID: 3}
	backend := func(cfg Firecracker) fleet.Backend {
		b, err := New(Config{Launch: func(context.Context, fleet.Spec) (Machine, error) { return NewFirecracker(cfg) }})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b, err := backend(cfg).Open(t.Context(), fleet.Spec{Class: "vm"})
	if err != nil {
		t.Fatal(err)
	}
	commands(t, b)
	if err := errors.Join(b.Close(), b.Close()); err != nil {
		t.Error(err)
	}
	vs := cfg.VsockPath
	want := []string{
		`PUT /machine-config {"mem_size_mib":256,"vcpu_count":2}`,
		`PUT /boot-source {"boot_args":"console=ttyS0","kernel_image_path":"/vmlinux"}`,
		`PUT /drives/rootfs {"drive_id":"rootfs","is_read_only":true,"is_root_device":true,"path_on_host":"/root.ext4"}`,
		`PUT /vsock {"guest_cid":3,"uds_path":"` + vs + `"}`,
		`PUT /actions {"action_type":"InstanceStart"}`,
		`PUT /actions {"action_type":"SendCtrlAltDel"}`,
	}
	mu.Lock()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("requests (-want +got):\n" + diff)
	}
	got = nil
	mu.Unlock()

	cfg.SnapshotPath, cfg.MemoryPath, cfg.Port = "/snap", "/mem", 53
	if b, err = backend(cfg).Open(t.Context(), fleet.Spec{Class: "vm"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Exec(t.Context(), sandbox.Cmd{Args: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "port 53") {
		t.Errorf("no agent at the port: %v", err)
	}
	mu.Lock()
	if diff := cmp.Diff([]string{`PUT /snapshot/load {"mem_backend":{"backend_path":"/mem","backend_type":"File"},"resume_vm":true,"snapshot_path":"/snap"}`}, got); diff != "" {
		t.Error("requests (-want +got):\n" + diff)
	}
	mu.Unlock()
	cfg.SnapshotPath, cfg.MemoryPath, cfg.Kernel = "", "", "/none"
	if _, err := backend(cfg).Open(t.Context(), fleet.Spec{Class: "vm"}); err == nil || !strings.Contains(err.Error(), "The kernel file cannot be opened") {
		t.Errorf("a fault: %v", err)
	}
	if _, err := NewFirecracker(Firecracker{APISocket: "x"}); err == nil {
		t.Error("a machine without anything was accepted")
	}
}

func TestQEMU(t *testing.T) {
	path, l := socket(t)
	agent, al := socket(t)
	guest(t, al)
	said := make(chan string, 10)
	go func() { // QEMU's side, strict about order and form
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintln(conn, `{"QMP": {"version": {"qemu": {"micro": 0, "minor": 2, "major": 9}}, "capabilities": ["oob"]}}`)
		negotiated := false
		for in := bufio.NewScanner(conn); in.Scan(); {
			var m struct {
				Execute string
				ID      *int
			}
			if err := json.Unmarshal(in.Bytes(), &m); err != nil || m.ID == nil {
				fmt.Fprintln(conn, `{"error": {"class": "GenericError", "desc": "Invalid JSON syntax"}}`)
				continue
			}
			said <- m.Execute
			answer := "{}"
			switch {
			case m.Execute == "qmp_capabilities":
				negotiated = true
			case !negotiated:
				fmt.Fprintf(conn, `{"id": %d, "error": {"class": "CommandNotFound", "desc": "Expecting capabilities negotiation"}}`+"\n", *m.ID)
				continue
			case m.Execute == "cont":
				fmt.Fprintln(conn, `{"timestamp": {"seconds": 1, "microseconds": 2}, "event": "RESUME"}`)
			case m.Execute == "query-status":
				answer = `{"status": "running", "singlestep": false, "running": true}`
			}
			fmt.Fprintf(conn, `{"return": %s, "id": %d}`+"\n", answer, *m.ID)
		}
	}()
	backend, err := New(Config{Launch: func(context.Context, fleet.Spec) (Machine, error) {
		return NewQEMU(QEMU{QMPSocket: path, Agent: func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", agent)
		}})
	}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := backend.Open(t.Context(), fleet.Spec{Class: "vm"})
	if err != nil {
		t.Fatal(err)
	}
	commands(t, b)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	var got []string
	for range 4 {
		got = append(got, <-said)
	}
	if diff := cmp.Diff([]string{"qmp_capabilities", "cont", "query-status", "quit"}, got); diff != "" {
		t.Error("commands (-want +got):\n" + diff)
	}
}

// FuzzQMP passes arbitrary input to the reader of a QMP socket.
func FuzzQMP(f *testing.F) {
	for _, s := range []string{"", "{}\n", "{\"QMP\": {}}\n{\"return\": {}, \"id\": 1}\n{\"return\": {}, \"id\": 2}\n", "{\"QMP\":{}}\n{\"error\":{\"class\":\"a\"},\"id\":1}\n", "[1]\n", "\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, c := net.Pipe()
		go func() {
			buf := make([]byte, 4096)
			for {
				if _, err := c.Read(buf); err != nil {
					return
				}
			}
		}()
		go func() { _, _ = c.Write(b); c.Close() }()
		q, err := newQMP(t.Context(), a)
		if err == nil {
			_, _ = q.execute(t.Context(), "cont")
		}
		a.Close()
	})
}
