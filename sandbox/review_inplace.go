package sandbox

import (
	"context"
	"errors"
	"time"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// clockSlack is how far a file system's times may lie behind the clock: the kernel
// takes them from its last tick.
const clockSlack = 100 * time.Millisecond

// errElsewhere means that the workspace's path is not one of this host.
var errElsewhere = errors.New("the workspace is not on this host")

// reviewInPlace looks at what was touched since the sandbox was opened.
func (l *local) reviewInPlace(ctx context.Context) (*Review, error) {
	if l.once.closed() {
		return nil, ErrClosed
	}
	if l.ws.source == "" {
		return nil, errElsewhere
	}
	c, err := tree.Touched(ctx, l.ws.dir, l.ws.opened.Add(-clockSlack))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	r, err := reviewOf(ctx, c, l.ws.dir)
	if err != nil {
		return nil, err
	}
	r.Changes = nil
	return r, nil
}
