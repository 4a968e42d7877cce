package microvm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Firecracker describes a Firecracker machine. Paths are as the Firecracker process sees them,
// except APISocket.
type Firecracker struct {
	APISocket  string // socket of the process, as seen by this program
	Kernel     string
	KernelArgs string
	RootFS     string // a disk image
	ReadOnly   bool   // make the disk read-only
	VCPUs      int
	MemoryMiB  int
	// VsockPath is the Unix socket at which the process offers the guest's vsock; Port is the port
	// at which the agent listens in the guest.
	VsockPath string
	Port      uint32
	CID       uint32 // of the guest's vsock; at least 3
	// SnapshotPath and MemoryPath resume a saved machine instead of booting one.
	SnapshotPath, MemoryPath string
	// Stopped is called by Stop after the guest was asked to end; it must end the process.
	Stopped func(ctx context.Context) error
}

// NewFirecracker returns the machine of a Firecracker process that listens on its API socket and is
// not configured yet.
func NewFirecracker(cfg Firecracker) (Machine, error) {
	if cfg.APISocket == "" || cfg.VsockPath == "" || cfg.Port == 0 || cfg.CID < 3 {
		return nil, fmt.Errorf("microvm: make Firecracker machine: APISocket, VsockPath, Port and CID (3 or more) are required")
	}
	if (cfg.SnapshotPath == "") != (cfg.MemoryPath == "") {
		return nil, fmt.Errorf("microvm: make Firecracker machine: SnapshotPath and MemoryPath go together")
	}
	if cfg.SnapshotPath == "" && (cfg.Kernel == "" || cfg.RootFS == "" || cfg.VCPUs < 1 || cfg.MemoryMiB < 1) {
		return nil, fmt.Errorf("microvm: make Firecracker machine: Kernel, RootFS, VCPUs and MemoryMiB are required to boot")
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", cfg.APISocket)
	}
	return &firecracker{cfg, &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: 30 * time.Second}}, nil
}

type firecracker struct {
	cfg  Firecracker
	http *http.Client
}

type object = map[string]any

// put sends one request to the API.
func (f *firecracker) put(ctx context.Context, method, path string, body object) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := f.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode != http.StatusNoContent && resp.StatusCode != http.StatusOK {
		var fault struct {
			Message string `json:"fault_message"`
		}
		_ = json.Unmarshal(text, &fault)
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, fault.Message)
	}
	return nil
}

// Start implements Machine: it configures the machine and boots it, or loads a saved one.
func (f *firecracker) Start(ctx context.Context) error {
	c := f.cfg
	if c.SnapshotPath != "" {
		return f.put(ctx, "PUT", "/snapshot/load", object{"snapshot_path": c.SnapshotPath,
			"mem_backend": object{"backend_type": "File", "backend_path": c.MemoryPath}, "resume_vm": true})
	}
	for _, step := range []struct {
		path string
		body object
	}{
		{"/machine-config", object{"vcpu_count": c.VCPUs, "mem_size_mib": c.MemoryMiB}},
		{"/boot-source", object{"kernel_image_path": c.Kernel, "boot_args": c.KernelArgs}},
		{"/drives/rootfs", object{"drive_id": "rootfs", "path_on_host": c.RootFS, "is_root_device": true, "is_read_only": c.ReadOnly}},
		{"/vsock", object{"guest_cid": c.CID, "uds_path": c.VsockPath}},
		{"/actions", object{"action_type": "InstanceStart"}},
	} {
		if err := f.put(ctx, "PUT", step.path, step.body); err != nil {
			return err
		}
	}
	return nil
}

// Dial implements Machine. Firecracker exposes a vsock as a Unix socket: the client sends a line
// with the guest's port, and receives a line in answer.
func (f *firecracker) Dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", f.cfg.VsockPath)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if _, err := fmt.Fprintf(conn, "CONNECT %d\n", f.cfg.Port); err != nil {
		conn.Close()
		return nil, err
	}
	// The line is short, and the following bytes belong to the agent: do not read further.
	r := bufio.NewReaderSize(oneByte{conn}, 64)
	line, err := r.ReadSlice('\n')
	if err != nil || !strings.HasPrefix(string(line), "OK ") {
		conn.Close()
		return nil, fmt.Errorf("port %d of the guest: %q, %v; does the agent listen?", f.cfg.Port, line, err)
	}
	return conn, nil
}

// oneByte reads byte by byte, so that a buffered reader on top of it does not read ahead.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) {
	if len(p) > 1 {
		p = p[:1]
	}
	return o.r.Read(p)
}

// Stop implements Machine.
func (f *firecracker) Stop(ctx context.Context) error {
	// A guest that is asked to reboot ends its process; if it ignores that, Stopped ends it.
	err := f.put(ctx, "PUT", "/actions", object{"action_type": "SendCtrlAltDel"})
	if f.cfg.Stopped != nil {
		return f.cfg.Stopped(ctx)
	}
	return err
}
