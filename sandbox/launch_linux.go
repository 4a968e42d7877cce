package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// launchOptions say how a supervisor's process is made.
type launchOptions struct {
	argv  []string // in place of the program itself; the stage's arguments are appended
	attr  *syscall.SysProcAttr
	files []*os.File // from descriptor 4 on; launch closes them
	hard  bool
}

// launch starts a supervisor and waits until it has walled itself in.
func launch(ctx context.Context, sp *spec, o launchOptions) (*guestSpawner, *facts, error) {
	defer closeFiles(o.files)
	hostEnd, guestEnd, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	complaint, err := os.CreateTemp("", "luthier-sandbox-log-*")
	if err != nil {
		closeFiles([]*os.File{hostEnd, guestEnd})
		return nil, nil, err
	}
	os.Remove(complaint.Name())
	defer complaint.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		closeFiles([]*os.File{hostEnd, guestEnd})
		return nil, nil, err
	}
	defer null.Close()
	argv := o.argv
	if argv == nil {
		argv = []string{"/proc/self/exe"}
	}
	sup, err := os.StartProcess(argv[0], append(argv, stageArg, stageSetup), &os.ProcAttr{
		Dir: "/", Env: []string{"PATH=/usr/bin:/bin", "GOTRACEBACK=none"}, Sys: o.attr,
		Files: append([]*os.File{null, null, complaint, guestEnd}, o.files...),
	})
	guestEnd.Close()
	if err != nil {
		hostEnd.Close()
		return nil, nil, explainClone(err)
	}
	c, err := newConn(hostEnd)
	if err == nil {
		var f *facts
		if f, err = greet(ctx, c, sp); err == nil {
			return newGuestSpawner(c, sup, o.hard, sp.marker()), f, nil
		}
		c.close()
	}
	_ = sup.Kill()
	_, _ = sup.Wait()
	if text := tail(complaint); text != "" {
		err = fmt.Errorf("%w (%s)", err, text)
	}
	return nil, nil, err
}

// greet sends the spec to both stages and waits for the second's report.
func greet(ctx context.Context, c *conn, sp *spec) (*facts, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.sock.Close() })
	defer stop()
	sp.ID = rand.Text()
	for range 2 {
		if err := c.tell(sp); err != nil {
			return nil, err
		}
	}
	r, err := c.listen()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("supervisor ended during set-up: %w", err)
	case r.Error != nil:
		return nil, r.Error
	case r.Event != evHello || r.Facts == nil:
		return nil, errors.New("supervisor did not report its walls")
	}
	return r.Facts, nil
}

// explainClone says what usually stands behind a refusal.
func explainClone(err error) error {
	switch {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return fmt.Errorf("create namespaces: %w (user namespaces may be forbidden: see user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns, or the container's seccomp profile)", err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("create namespaces: %w (the limit on namespaces is reached: see /proc/sys/user)", err)
	}
	return fmt.Errorf("create namespaces: %w", err)
}

func tail(f *os.File) string {
	const most = 512
	fi, err := f.Stat()
	if err != nil {
		return ""
	}
	b, _ := io.ReadAll(io.NewSectionReader(f, max(0, fi.Size()-most), most))
	return strings.TrimSpace(string(b))
}
