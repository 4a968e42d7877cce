package sandbox

import (
	"sync"
	"sync/atomic"
)

// closeOnce runs a closing function once and remembers its error.
type closeOnce struct {
	over atomic.Bool
	once sync.Once
	err  error
}

func (c *closeOnce) closed() bool { return c.over.Load() }

func (c *closeOnce) do(f func() error) error {
	c.once.Do(func() {
		c.over.Store(true)
		c.err = f()
	})
	return c.err
}
