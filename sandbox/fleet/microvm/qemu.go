package microvm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
)

// QEMU is a QEMU process that was started with -S and -qmp unix:PATH,server.
type QEMU struct {
	QMPSocket string
	// Agent connects to the agent in the guest: over vsock, or over a virtio-serial port that QEMU
	// provides as a Unix socket.
	Agent func(ctx context.Context) (net.Conn, error)
}

// NewQEMU returns a Machine for a running QEMU process whose guest has not been started yet; Start
// starts it.
func NewQEMU(cfg QEMU) (Machine, error) {
	if cfg.QMPSocket == "" || cfg.Agent == nil {
		return nil, errors.New("microvm: make QEMU machine: QMPSocket and Agent are required")
	}
	return &qemu{cfg: cfg}, nil
}

type qemu struct {
	cfg QEMU
	mu  sync.Mutex
	qmp *qmp
}

// Start implements Machine.
func (q *qemu) Start(ctx context.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", q.cfg.QMPSocket)
	if err != nil {
		return err
	}
	if q.qmp, err = newQMP(ctx, conn); err != nil {
		conn.Close()
		return err
	}
	if _, err := q.qmp.execute(ctx, "cont"); err != nil {
		return err
	}
	var status struct {
		Running bool   `json:"running"`
		Status  string `json:"status"`
	}
	b, err := q.qmp.execute(ctx, "query-status")
	if err == nil {
		err = json.Unmarshal(b, &status)
	}
	if err == nil && !status.Running {
		err = fmt.Errorf("QEMU says that the guest is %q after it was started", status.Status)
	}
	return err
}

// Dial implements Machine.
func (q *qemu) Dial(ctx context.Context) (net.Conn, error) { return q.cfg.Agent(ctx) }

// Stop implements Machine: it ends the process.
func (q *qemu) Stop(ctx context.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.qmp == nil {
		return nil
	}
	_, err := q.qmp.execute(ctx, "quit")
	err = errors.Join(err, q.qmp.conn.Close())
	q.qmp = nil
	return err
}

// qmp is a connection of the QEMU machine protocol: one JSON object per line.
type qmp struct {
	conn net.Conn
	in   *bufio.Scanner
	next int
}

// maxLine limits the length of a line from QEMU.
const maxLine = 1 << 20

// newQMP reads the greeting and completes the negotiation.
func newQMP(ctx context.Context, conn net.Conn) (*qmp, error) {
	q := &qmp{conn: conn, in: bufio.NewScanner(conn)}
	q.in.Buffer(make([]byte, 0, 4096), maxLine)
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	m, err := q.read()
	if err != nil {
		return nil, err
	}
	if m.Greeting == nil {
		return nil, errors.New("QMP: no greeting; is this a QMP socket?")
	}
	_, err = q.execute(ctx, "qmp_capabilities")
	return q, err
}

// qmpMessage is any message of QEMU: a greeting, an answer or an event.
type qmpMessage struct {
	Greeting *json.RawMessage `json:"QMP"`
	Event    string           `json:"event"`
	ID       int              `json:"id"`
	Return   json.RawMessage  `json:"return"`
	Error    *struct {
		Class string `json:"class"`
		Desc  string `json:"desc"`
	} `json:"error"`
}

func (q *qmp) read() (*qmpMessage, error) {
	if !q.in.Scan() {
		return nil, errors.Join(errors.New("QMP: the connection ended"), q.in.Err())
	}
	var m qmpMessage
	if err := json.Unmarshal(q.in.Bytes(), &m); err != nil {
		return nil, fmt.Errorf("QMP: %w", err)
	}
	return &m, nil
}

// execute runs a command without arguments and returns its answer; it skips events that arrive in
// between.
func (q *qmp) execute(ctx context.Context, command string) (json.RawMessage, error) {
	defer context.AfterFunc(ctx, func() { q.conn.Close() })()
	q.next++
	b, err := json.Marshal(object{"execute": command, "id": q.next})
	if err != nil {
		return nil, err
	}
	if _, err := q.conn.Write(append(b, '\n')); err != nil {
		return nil, fmt.Errorf("QMP: %s: %w", command, err)
	}
	for {
		m, err := q.read()
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", command, err)
		case m.Event != "" || m.ID != q.next:
		case m.Error != nil:
			return nil, fmt.Errorf("QMP: %s: %s: %s", command, m.Error.Class, m.Error.Desc)
		default:
			return m.Return, nil
		}
	}
}
