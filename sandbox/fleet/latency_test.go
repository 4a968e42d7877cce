package fleet_test

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/luthier-dev/luthier/sandbox/fleet"
)

// slow is a connection over a long-distance link: written data arrives later, in order, while the
// writer continues.
type slow struct {
	net.Conn
	queue chan late
	done  chan struct{}
	once  sync.Once
}

type late struct {
	b  []byte
	at time.Time
}

// slowDialer makes connections with a round-trip time of delay.
type slowDialer struct{ delay time.Duration }

func (d slowDialer) Dial(network, addr string) (net.Conn, error) {
	c, err := net.DialTimeout(network, addr, 10*time.Second)
	if err != nil {
		return nil, err
	}
	s := &slow{Conn: c, queue: make(chan late, 1<<16), done: make(chan struct{})}
	go func() {
		for {
			select {
			case l := <-s.queue:
				time.Sleep(time.Until(l.at))
				if _, err := c.Write(l.b); err != nil {
					c.Close()
				}
			case <-s.done:
				return
			}
		}
	}()
	return &slowWriter{s, d.delay}, nil
}

type slowWriter struct {
	*slow
	delay time.Duration
}

func (s *slowWriter) Write(b []byte) (int, error) {
	select {
	case s.queue <- late{append([]byte(nil), b...), time.Now().Add(s.delay)}:
		return len(b), nil
	case <-s.done:
		return 0, net.ErrClosed
	}
}

func (s *slowWriter) Close() error {
	s.once.Do(func() { close(s.done) })
	return s.Conn.Close()
}

func TestLatency(t *testing.T) {
	srv := embedded(t, fleet.ServerConfig{NoSync: true, Listen: "127.0.0.1:0"})
	far := func() fleet.Engine {
		return connect(t, fleet.NATSConfig{URL: srv.URL(), AckWait: 30 * time.Second, Presence: 30 * time.Second, // longer than a host waits for its turn

			Options: []nats.Option{nats.SetCustomDialer(slowDialer{80 * time.Millisecond})}})
	}
	near := connect(t, fleet.NATSConfig{Server: srv})
	h, _ := host(t, fleet.HostConfig{ID: "h1", Engine: far(), Backend: boxes(t), Slots: 8})
	present(t, near, 1)
	e := far()
	c := fleet.NewClient(e, "test")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if r, err := c.Run(t.Context(), job(fmt.Sprintf("j%d", i))); err != nil || r.Exit == nil {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	s := openSession(t, e, fleet.Request{})
	for i := range 5 {
		if exit, err := s.Exec(t.Context(), sh(fmt.Sprintf("echo %d", i))); err != nil || exit.Stdout.String() != fmt.Sprintln(i) {
			t.Errorf("%+v, %v", exit, err)
		}
	}
	wg.Wait()
	// A host counts a result only after storing it, so a client may see the result before it is
	// counted.
	eventually(t, "20 results are counted", func() bool { return h.Stats().Counted >= 20 })
	if st := h.Stats(); st.Counted != 20 || st.Jobs != 20 {
		t.Errorf("host: %+v; want 20 jobs, each run and counted once", st)
	}
}
