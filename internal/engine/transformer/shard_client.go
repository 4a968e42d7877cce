package transformer

import (
	"fmt"
	"io"
)

// RemoteExperts is an ExpertWorker at the other end of a connection, served by ServeExperts. After
// an error the connection is unusable.
type RemoteExperts struct {
	c       *wire
	width   int
	layers  int
	experts int
	err     error
}

// DialExperts performs the handshake with the worker at the other end of conn: a Unix or TCP
// socket, or the pipes of a process. The caller must close conn, which also ends a call that hangs.
func DialExperts(conn io.ReadWriter) (*RemoteExperts, error) {
	c := newWire(conn)
	var width, layers, experts uint32
	err := c.frame()
	if err == nil {
		err = c.ints(&width, &layers, &experts)
	}
	if err == nil && (width == 0 || width > maxWidth || layers > maxLayers || experts > maxExperts) {
		err = fmt.Errorf("the worker's network has width %d, %d layers, %d experts", width, layers, experts)
	}
	if err != nil {
		return nil, fmt.Errorf("transformer: greet expert worker: %w", err)
	}
	return &RemoteExperts{c: c, width: int(width), layers: int(layers), experts: int(experts)}, nil
}

// Compute implements ExpertWorker.
func (r *RemoteExperts) Compute(layer int, jobs []ExpertJob) error {
	if r.err == nil {
		r.err = r.call(layer, jobs)
	}
	if r.err != nil {
		return fmt.Errorf("transformer: ask expert worker: %w", r.err)
	}
	return nil
}

func (r *RemoteExperts) call(layer int, jobs []ExpertJob) error {
	if layer >= r.layers {
		return fmt.Errorf("layer %d of a worker with %d layers", layer, r.layers)
	}
	r.c.putInts(shardMagic, uint32(layer), uint32(len(jobs)))
	for _, j := range jobs {
		if j.Expert >= r.experts || len(j.In)%r.width != 0 || len(j.Out) != len(j.In) {
			return fmt.Errorf("expert %d with %d numbers does not fit a worker with %d experts of width %d", j.Expert, len(j.In), r.experts, r.width)
		}
		r.c.putInts(uint32(j.Expert), uint32(len(j.In)/r.width))
		r.c.putFloats(j.In)
	}
	if err := r.c.w.Flush(); err != nil {
		return err
	}
	if err := r.c.frame(); err != nil {
		return err
	}
	var length uint32
	if err := r.c.ints(&length); err != nil {
		return err
	}
	if length > 0 {
		if err := r.c.read(int(min(length, shardMaxText))); err != nil {
			return err
		}
		return fmt.Errorf("the worker reports: %s", r.c.buf)
	}
	for _, j := range jobs {
		if err := r.c.floats(j.Out); err != nil {
			return err
		}
	}
	return nil
}
