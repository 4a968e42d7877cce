package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// NATSConfig configures the connection to NATS and the data stored there. Zero values are the
// defaults. All hosts and clients of a fleet must use the same Prefix. The first one that connects
// determines Replicas, MaxQueue, Results and the other properties of the stored data.
type NATSConfig struct {
	// URL lists the servers, separated by commas. It is required unless Conn or
	// Server is given.
	URL string
	// Server is an embedded server to connect to without the network.
	Server *Server
	// Options are added to the connection's options: credentials, TLS, a dialer.
	Options []nats.Option
	// Conn is an existing connection to use instead. The engine does not close it.
	Conn *nats.Conn

	// Prefix is the prefix of the names of all streams, buckets and subjects; default "luthier".
	Prefix string
	// Replicas is the number of servers of a cluster that store everything; default 1.
	Replicas int
	// AckWait is the time after which an unacknowledged job is delivered again; default 30 s.
	AckWait time.Duration
	// Presence limits how long a host's announcement lasts; default 5 s.
	Presence time.Duration
	// MaxQueue limits the jobs that wait or run; default 1,000,000.
	MaxQueue int
	// Results limits how long results are kept; default 24 hours.
	Results time.Duration
}

// Connect connects to the fleet on a NATS server with JetStream, 2.11 or newer, and makes the
// streams and buckets that do not exist yet. The connection is maintained until Close: methods fail
// while the servers are unreachable, and work again when they are back.
func Connect(ctx context.Context, cfg NATSConfig) (Engine, error) {
	cfg.Prefix = orDefault(cfg.Prefix, "luthier")
	if err := ValidName("NATSConfig.Prefix", cfg.Prefix); err != nil {
		return nil, fail("connect to", "NATS", err)
	}
	cfg.Replicas = orDefault(cfg.Replicas, 1)
	cfg.AckWait = orDefault(cfg.AckWait, defaultAckWait)
	cfg.Presence = orDefault(cfg.Presence, defaultPresence)
	cfg.MaxQueue = orDefault(cfg.MaxQueue, defaultMaxQueue)
	cfg.Results = orDefault(cfg.Results, 24*time.Hour)
	e := &natsEngine{cfg: cfg, conn: cfg.Conn, consumers: map[string]jetstream.Consumer{}}
	if err := e.dial(); err != nil {
		return nil, fail("connect to", "NATS at "+cfg.URL, err)
	}
	if err := e.prepare(ctx); err != nil {
		_ = e.Close()
		return nil, fail("prepare", "streams of "+cfg.Prefix, err)
	}
	return e, nil
}

type natsEngine struct {
	cfg  NATSConfig
	conn *nats.Conn
	js   jetstream.JetStream
	work jetstream.Stream

	leases, results, hosts jetstream.KeyValue

	mu        sync.Mutex
	consumers map[string]jetstream.Consumer // by class
}

func (e *natsEngine) dial() error {
	if e.conn == nil {
		opts := append([]nats.Option{
			nats.Name("luthier fleet"),
			nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
			// Nothing is buffered while the servers are unreachable: the caller gets the error at
			// once, and can best decide whether to try again.
			nats.ReconnectBufSize(-1),
			// A silently broken link is noticed after 2 to 3 seconds.
			nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2), nats.Timeout(2 * time.Second),
			nats.IgnoreAuthErrorAbort(),
		}, e.cfg.Options...)
		if e.cfg.Server != nil {
			opts = append(opts, e.cfg.Server.clientOptions()...)
		}
		conn, err := nats.Connect(e.cfg.URL, opts...)
		if err != nil {
			return err
		}
		e.conn = conn
	}
	js, err := jetstream.New(e.conn, jetstream.WithDefaultTimeout(5*time.Second))
	e.js = js
	return err
}

// prepare makes the streams and buckets that do not exist yet.
func (e *natsEngine) prepare(ctx context.Context) error {
	var err error
	e.work, err = e.stream(ctx, jetstream.StreamConfig{
		Name: e.cfg.Prefix + "_work", Description: "jobs that wait or run",
		Subjects:  []string{e.workSubject("*", "*")},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Replicas: e.cfg.Replicas,
		Discard: jetstream.DiscardNew, MaxMsgs: int64(e.cfg.MaxQueue), MaxMsgSize: MaxMessage + 4<<10,
	})
	if err != nil {
		return fmt.Errorf("stream of jobs: %w", err)
	}
	// The marker that an expired lease leaves for a while lets the server notify watchers; it also
	// enables lifetimes of single keys.
	e.leases, err = e.bucket(ctx, jetstream.KeyValueConfig{Bucket: e.cfg.Prefix + "_leases", LimitMarkerTTL: time.Second})
	if err != nil {
		return fmt.Errorf("bucket of leases: %w", err)
	}
	e.results, err = e.bucket(ctx, jetstream.KeyValueConfig{Bucket: e.cfg.Prefix + "_results", TTL: e.cfg.Results})
	if err != nil {
		return fmt.Errorf("bucket of results: %w", err)
	}
	e.hosts, err = e.bucket(ctx, jetstream.KeyValueConfig{Bucket: e.cfg.Prefix + "_hosts", TTL: e.cfg.Presence, Storage: jetstream.MemoryStorage})
	if err != nil {
		return fmt.Errorf("bucket of hosts: %w", err)
	}
	return nil
}

func (e *natsEngine) stream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := e.js.Stream(ctx, cfg.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = e.js.CreateStream(ctx, cfg)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // somebody else made it first, with other settings
			s, err = e.js.Stream(ctx, cfg.Name)
		}
	}
	return s, err
}

func (e *natsEngine) bucket(ctx context.Context, cfg jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	cfg.History, cfg.Replicas = 1, e.cfg.Replicas
	kv, err := e.js.KeyValue(ctx, cfg.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = e.js.CreateKeyValue(ctx, cfg)
		if errors.Is(err, jetstream.ErrBucketExists) {
			kv, err = e.js.KeyValue(ctx, cfg.Bucket)
		}
	}
	return kv, err
}

func (e *natsEngine) workSubject(class, id string) string {
	return e.cfg.Prefix + ".work." + class + "." + id
}

func (e *natsEngine) hostSubject(host string) string { return e.cfg.Prefix + ".host." + host }

// Close implements Engine.
func (e *natsEngine) Close() error {
	if e.cfg.Conn == nil && e.conn != nil {
		e.conn.Close()
	}
	return nil
}

// isConflict reports whether a write failed because the state was not the expected one.
func isConflict(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// isFull reports whether a stream accepts no more messages. The server uses the same code for all
// reasons not to store a message, so the text decides.
func isFull(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && strings.Contains(api.Description, "maximum messages exceeded")
}
