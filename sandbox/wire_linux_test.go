package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pair returns two ends of a control socket.
func pair(t testing.TB) (a, b *conn) {
	t.Helper()
	fa, fb, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	if a, err = newConn(fa); err != nil {
		t.Fatal(err)
	}
	if b, err = newConn(fb); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.close(); b.close() })
	return a, b
}

func TestControlSocketCarriesAnyBytesAndFiles(t *testing.T) {
	host, guest := pair(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i, size := range []int{0, 1, 100, 300_000, 4_000_000} {
		want := request{ID: uint64(i + 1), Op: opStart, Args: []string{"\xff\x00", strings.Repeat("x", size)}, Dir: "/a\nb"}
		sent := make(chan error, 1)
		go func() { sent <- host.tell(want, w) }()
		var got request
		files, err := guest.hear(&got)
		if err := errors.Join(err, <-sent); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
		if len(files) != 1 {
			t.Fatalf("%d files", len(files))
		}
		if _, err := io.WriteString(files[0], "x"); err != nil {
			t.Error(err)
		}
		files[0].Close()
		if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
			t.Error(err)
		}
	}
	w.Close()
	if err := host.tell(request{Args: []string{strings.Repeat("x", maxFrame)}}); !errors.Is(err, syscall.E2BIG) {
		t.Errorf("too big: %v", err)
	}
}

func TestErrorsKeepTheirKindAcrossTheSocket(t *testing.T) {
	host, guest := pair(t)
	for _, want := range []error{exec.ErrNotFound, os.ErrProcessDone, os.ErrPermission, os.ErrNotExist, syscall.ENOTDIR, syscall.ENOENT} {
		if err := guest.answer(reply{Event: evDone, Error: toWire(&os.PathError{Op: "x", Path: "\xff", Err: want})}); err != nil {
			t.Fatal(err)
		}
		r, err := host.listen()
		if err != nil {
			t.Fatal(err)
		}
		if !errors.Is(r.Error.err(), want) || errors.Is(r.Error.err(), io.EOF) {
			t.Errorf("%v became %v", want, r.Error)
		}
	}
	if (*wireError)(nil).err() != nil {
		t.Error("no error became one")
	}
}

// FuzzHostileSupervisor sends what a supervisor that was taken over might send. The host must
// neither crash nor hang, and must trust it only with the fate of its own commands.
func FuzzHostileSupervisor(f *testing.F) {
	f.Add([]byte(`{"id":1,"event":"started","pid":7}`), []byte(`{"id":1,"event":"exited","status":{"code":3}}`))
	f.Add([]byte(`{"id":1,"event":"exited"}`), []byte(`{"id":1,"event":"started"}`))
	f.Add([]byte(`{"id":1,"event":"started"}`), []byte(`{"id":1,"event":"started"}`))
	f.Add([]byte(`{"seq":2,"event":"done"}`), []byte(`{"id":1,"event":"started","error":{"text":"no"}}`))
	f.Add([]byte(`[]`), []byte{0xff})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		host, guest := pair(t)
		g := &guestSpawner{link: host, live: map[uint64]*guestChild{}, asks: map[uint64]*question{}, gone: make(chan struct{})}
		go g.listen()
		go func() {
			var r request
			if files, err := guest.hear(&r); err == nil {
				closeFiles(files)
			}
			for _, b := range [][]byte{first, second} {
				frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
				if _, err := guest.sock.Write(frame); err != nil {
					break
				}
			}
			guest.close()
		}()
		null, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		over := make(chan struct{})
		go func() {
			defer close(over)
			c, err := g.spawn(context.Background(), spawnRequest{args: []string{"x"}, files: [3]*os.File{null, null, null}})
			if err != nil {
				return
			}
			_, _ = c.wait()
			_ = c.signal(syscall.SIGTERM)
		}()
		select {
		case <-over:
		case <-time.After(time.Minute):
			t.Fatal("the host hangs")
		}
		<-g.gone
	})
}

func TestSpecIsChecked(t *testing.T) {
	good := spec{ID: "x", Tier: TierNamespaces, Mounts: []mount{{Kind: mountBind, Target: "/usr"}}}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	for _, bad := range []spec{
		{},
		{ID: "x", Tier: TierNone},
		{ID: "x", Tier: 3},
		{Tier: TierNamespaces},
		{ID: "x", Tier: TierNamespaces, Mounts: []mount{{Kind: "magic", Target: "/usr"}}},
		{ID: "x", Tier: TierNamespaces, Mounts: []mount{{Kind: mountBind, Target: "usr"}}},
		{ID: "x", Tier: TierNamespaces, Mounts: []mount{{Kind: mountBind, Target: "/usr/../etc"}}},
		{ID: "x", Tier: TierNamespaces, Mounts: []mount{{Kind: mountBind, Target: "/"}}},
		{ID: "x", Tier: TierNamespaces, Mounts: []mount{{Kind: mountBind, Target: "/usr", FD: -1}}},
	} {
		if bad.check() == nil {
			t.Errorf("accepted: %+v", bad)
		}
	}
}

// TestSharedTypes checks that a broker's connection describes each type only once, even if many
// goroutines send at the same time.
func TestSharedTypes(t *testing.T) {
	a, b := pair(t)
	a.shareTypes()
	b.shareTypes()
	const n = 200
	sent := make(chan error, n)
	for i := range n {
		go func() {
			if i%2 == 0 {
				sent <- a.tell(brokerReply{Seq: uint64(i)})
			} else {
				sent <- a.tell(brokerReply{Seq: uint64(i), Error: toWire(syscall.EPERM)})
			}
		}()
	}
	seen := map[uint64]bool{}
	for range n {
		var r brokerReply
		if _, err := b.hear(&r); err != nil {
			t.Fatal(err)
		}
		if seen[r.Seq] || (r.Seq%2 == 1) != errors.Is(r.Error.err(), syscall.EPERM) {
			t.Fatalf("%+v", r)
		}
		seen[r.Seq] = true
	}
	for range n {
		if err := <-sent; err != nil {
			t.Error(err)
		}
	}
}

func FuzzRequest(f *testing.F) {
	for _, r := range []request{{}, {ID: 1, Seq: 1 << 60, Op: opStart, Args: []string{"\xff\x00", ""}, Dir: "/", Env: []string{"A=b"}, Signal: 9}} {
		f.Add(r.encode())
	}
	f.Add([]byte{0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		var r, again request
		if r.decode(b) != nil {
			return
		}
		if err := again.decode(r.encode()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(r, again); d != "" {
			t.Error(d)
		}
	})
}
