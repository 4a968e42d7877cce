package coding

import "github.com/luthier-dev/luthier/agent"

// fileTools returns the tools that work on files and on the conversation.
func (w *Workspace) fileTools() ([]agent.Tool, error) { return nil, nil }
