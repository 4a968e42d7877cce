package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/remote"
)

// openTools returns the server of the tools of a session's box. The first request makes it.
func (s *hostSession) openTools() (*remote.ToolServer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.tools != nil:
		return s.tools, nil
	case s.over:
		return nil, ErrLost
	}
	dir, err := os.MkdirTemp("", "luthier-fleet-tools-*")
	if err != nil {
		return nil, err
	}
	s.tools, err = remote.NewToolServer(remote.ToolServerConfig{Dir: dir, Log: s.log,
		Open: func(ctx context.Context) (remote.Toolbox, error) {
			if s.opener == nil {
				return nil, remote.ErrNoTools
			}
			return s.opener(ctx, s.box)
		}})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.toolDir = dir
	return s.tools, nil
}

// tool answers a request about tools.
func (s *hostSession) tool(ctx context.Context, r *toolRequest) (*toolAnswer, error) {
	h, err := s.openTools()
	if err != nil {
		return nil, err
	}
	return r.serve(ctx, h)
}

// closeTools ends all calls. The session is over by then.
func (s *hostSession) closeTools() error {
	s.mu.Lock()
	tools := s.tools
	s.mu.Unlock()
	if tools == nil {
		return nil
	}
	if err := errors.Join(tools.Close(), os.RemoveAll(s.toolDir)); err != nil {
		return fmt.Errorf("close tools: %w", err)
	}
	return nil
}

// SandboxTools returns a function for HostConfig.Tools that opens the tools of boxes that are
// sandboxes of the host's machine, such as those of [PoolBackend], with a function for
// remote.Config.Tools, such as luthier.ServeTools returns.
func SandboxTools(open func(ctx context.Context, sb sandbox.Sandbox) (remote.Toolbox, error)) func(ctx context.Context, box Box) (remote.Toolbox, error) {
	return func(ctx context.Context, box Box) (remote.Toolbox, error) {
		sb, ok := box.(sandbox.Sandbox)
		if !ok {
			return nil, fmt.Errorf("a box of type %T is no sandbox.Sandbox: %w", box, remote.ErrNoTools)
		}
		return open(ctx, sb)
	}
}
