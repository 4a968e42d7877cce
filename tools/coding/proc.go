package coding

import "github.com/luthier-dev/luthier/agent"

// ProcConfig configures the tools that run programs. The zero value works.
type ProcConfig struct{}

// complete fills in defaults and reports the first field that cannot be used as "Field: cause".
func (c *ProcConfig) complete() error { return nil }

// procTools returns the tools that run programs.
func (w *Workspace) procTools() ([]agent.Tool, error) { return nil, nil }

// procClose ends every program the tools have started.
func (w *Workspace) procClose() error { return nil }
