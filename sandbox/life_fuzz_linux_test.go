package sandbox

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/sandbox/internal/initproc"
)

// told encodes an answer of an init process.
func told(a initproc.Answer) []byte {
	return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(&a)), unsafe.Sizeof(a))...)
}

// FuzzHostileFirst sends arbitrary messages with arbitrary descriptors, as an init process that was
// taken over might. The host must neither crash nor hang, keep no descriptor that it did not ask
// for, and trust the process only with the fate of the commands that it was asked to start.
func FuzzHostileFirst(f *testing.F) {
	started, exited := told(initproc.Answer{Event: initproc.Started, ID: 1, PID: 7}), told(initproc.Answer{Event: initproc.Exited, ID: 1, Wait: 3 << 8})
	f.Add(started, exited, byte(0))
	f.Add(exited, started, byte(1))
	f.Add(started, started, byte(2))
	f.Add(told(initproc.Answer{Event: initproc.Failed, ID: 1, Stage: initproc.StageExec, Path: 1<<32 - 1, Errno: unix.ENOENT}), []byte{}, byte(3))
	f.Add(told(initproc.Answer{Event: initproc.Failed, ID: 1, Stage: 77, Errno: 1 << 40}), exited, byte(0))
	f.Add(told(initproc.Answer{Event: initproc.Done, ID: 2}), told(initproc.Answer{Event: initproc.Ready, ID: 2, PID: -1}), byte(1))
	f.Add(told(initproc.Answer{Event: initproc.Started, ID: 1, PID: -1 << 63}), told(initproc.Answer{Event: initproc.Exited, ID: 1, Wait: -1, RSS: 1 << 62, User: -1}), byte(1))
	f.Add([]byte(`{"id":1,"event":"started","pid":-1}`), []byte(`{"id":1,"event":"exited"}`), byte(1))
	f.Add([]byte(`{"event":"denied","lineage":[7,-1,0],"denial":{"call":"x"}}`), []byte(`{"event":"exceeded"}`), byte(0))
	f.Add([]byte(`{"seq":2,"event":"done","error":{"text":"","is":["ended","x"]}}`), []byte(`{`), byte(4))
	f.Fuzz(func(t *testing.T, first, second []byte, files byte) {
		null, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		l, err := newFirstLink(os.NewFile(uintptr(fds[0]), "control"), nil, 1, "MARK=", Limits{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.close()
		g := &guestSpawner{link: l, live: map[uint64]*guestChild{}, asks: map[uint64]*question{}, gone: make(chan struct{})}
		bystander := &guestChild{g: g, id: 1 << 50, ready: make(chan error, 1), ended: make(chan struct{})}
		g.live[bystander.id] = bystander
		go g.listen()
		pipe := make([]int, 2)
		if err := unix.Pipe2(pipe, unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		defer unix.Close(pipe[0])
		go beHostile(fds[1], [][]byte{first, second}, pipe[1], int(files%5))
		over := make(chan struct{})
		var code int
		var startErr, waitErr error
		go func() {
			defer close(over)
			c, err := g.spawn(context.Background(), spawnRequest{args: []string{"/x"}, files: [3]*os.File{null, null, null}})
			if startErr = err; err != nil {
				return
			}
			var st status
			st, waitErr = c.wait()
			code = st.Code
			_ = c.signal(syscall.SIGTERM)
			if f, _ := g.listenFor("tcp4", "127.0.0.1:1"); f != nil {
				t.Error("what is no socket was taken for one")
				f.Close()
			}
		}()
		select {
		case <-over:
		case <-time.After(time.Minute):
			t.Fatal("the host hangs")
		}
		<-g.gone
		if startErr == nil && waitErr == nil && code == 0 && string(first)+string(second) == string(started)+string(exited) {
			t.Error("an exit with 3 was heard as 0")
		}
		// Unless a message named the command, it may end only together with the sandbox.
		select {
		case <-bystander.ended:
		default:
			t.Error("a command outlives its sandbox")
		}
		if !errors.Is(bystander.err, ErrClosed) && !names(first, bystander.id) && !names(second, bystander.id) {
			t.Errorf("the end of a bystander: %v, %+v", bystander.err, bystander.st)
		}
		l.close() // with the messages that nobody read any more
		if !hungUp(pipe[0]) {
			t.Error("a descriptor that nobody asked for was kept")
		}
	})
}

// names reports whether a message is about the command; JSON can express that in many ways.
func names(message []byte, id uint64) bool {
	if len(message) > 0 && message[0] == '{' {
		r, err := parseReply(message)
		return err == nil && r.ID == id
	}
	a, err := initproc.ParseAnswer(message)
	return err == nil && a.ID == id
}

// beHostile plays the other end: it waits for a request, sends the messages, and passes the pipe
// that often with each.
func beHostile(fd int, messages [][]byte, pipe, times int) {
	defer unix.Close(pipe)
	defer unix.Close(fd)
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 5})
	oob := make([]byte, unix.CmsgSpace(4*4))
	_, n, _, _, err := unix.Recvmsg(fd, make([]byte, 64<<10), oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return
	}
	files, _ := rights(oob[:n])
	closeFiles(files)
	var give []byte
	if times > 0 {
		list := make([]int, times)
		for i := range list {
			list[i] = pipe
		}
		give = unix.UnixRights(list...)
	}
	for _, m := range messages {
		if len(m) == 0 {
			continue // marks the end, which is handled below
		}
		if unix.Sendmsg(fd, m, give, nil, unix.MSG_NOSIGNAL) != nil {
			return
		}
	}
}

// hungUp waits until nobody holds the other end of a pipe.
func hungUp(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd)}}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if n, _ := unix.Poll(p, 100); n > 0 {
			return true
		}
	}
	return false
}
