package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/tools"
	"github.com/luthier-dev/luthier/tools/coding"
)

// maxSource limits the size of a source file that is read.
const maxSource = 64 << 20

// Write makes a verified edit in the module itself, through the coding tools: they replace the file
// in one step and keep its permissions, encoding and line endings. A file that changed since it was
// read is left unchanged.
func (m *Module) Write(ctx context.Context, e *Edit) error {
	name := filepath.Join(m.Root, filepath.FromSlash(e.Function.File))
	now, err := regular.Read(name, maxSource)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, e.Before) {
		return problem("%s was changed meanwhile and is left as it is; make the change shown by hand, or run this again", e.Function.File)
	}
	ws, err := coding.Open(m.Root, coding.Config{Only: []string{"read", "edit"}})
	if err != nil {
		return err
	}
	defer ws.Close()
	ts, err := ws.Tools()
	if err != nil {
		return err
	}
	reg, err := tools.NewRegistry(ts...)
	if err != nil {
		return err
	}
	from, to := e.Replacement()
	path := e.Function.File
	for _, c := range []struct {
		name string
		args map[string]any
	}{
		{"read", map[string]any{"path": path, "offset": e.Function.Start + e.Line - 1, "limit": 1}},
		{"edit", map[string]any{"path": path, "old": from, "new": to}},
	} {
		args, err := json.Marshal(c.args)
		if err != nil {
			return err
		}
		if res := reg.Call(ctx, agent.ToolCall{ID: c.name, Name: c.name, Args: args}); res.IsError {
			return fmt.Errorf("write %s: %s", path, res.Text())
		}
	}
	if now, err = regular.Read(name, maxSource); err != nil {
		return err
	}
	if !bytes.Equal(now, e.After) {
		return fmt.Errorf("write %s: what was written is not what was tested", path)
	}
	return nil
}
