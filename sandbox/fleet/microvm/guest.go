package microvm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/fleet"
)

// The protocol of the guest agent: on each connection, one command is sent and one result is
// returned. Each is a message of the fleet, preceded by its length in four bytes, big endian.
// Closing the connection early cancels the command.

// ServeGuest is the agent in a virtual machine: until ctx ends, it runs in box the commands that
// arrive on connections of l. The program that a guest starts calls it with a listener on the
// machine's vsock or serial port.
func ServeGuest(ctx context.Context, l net.Listener, box fleet.Box) error {
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(ctx, func() { l.Close() })()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("microvm: accept connection: %w", err)
		}
		wg.Go(func() { serveOne(ctx, conn, box) })
	}
}

func serveOne(ctx context.Context, conn net.Conn, box fleet.Box) {
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer cancel()
	b, err := readMessage(conn)
	if err != nil {
		return
	}
	r := &fleet.Result{Job: "command", Host: "guest", Attempt: 1}
	if job, err := fleet.DecodeJob(b); err != nil {
		r.Failure = err.Error()
	} else {
		go func() { // nothing more is sent, so the read ends when the other side closes the connection
			_, _ = io.Copy(io.Discard, conn)
			cancel()
		}()
		exit, err := box.Exec(ctx, job.Command.Cmd())
		if r.Exit = exit; exit == nil {
			r.Failure = fmt.Sprint(err)
		}
	}
	if b, err = fleet.EncodeResult(r); err == nil {
		_ = writeMessage(conn, b)
	}
}

// ask sends a command to a guest's agent.
func ask(ctx context.Context, conn net.Conn, cmd sandbox.Cmd) (*sandbox.Exit, error) {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	c, err := fleet.CommandOf(cmd)
	if err != nil {
		return nil, err
	}
	b, err := fleet.EncodeJob(&fleet.Job{ID: "command", Class: "guest", Command: *c})
	if err != nil {
		return nil, err
	}
	if err = writeMessage(conn, b); err == nil {
		b, err = readMessage(conn)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("the guest does not answer: %w", err)
	}
	r, err := fleet.DecodeResult(b)
	if err != nil {
		return nil, err
	}
	if r.Exit == nil {
		return nil, errors.New(r.Failure)
	}
	return r.Exit, nil
}

func writeMessage(w io.Writer, b []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

func readMessage(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > fleet.MaxMessage {
		return nil, fmt.Errorf("message of %d bytes, at most %d are allowed", n, fleet.MaxMessage)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}
