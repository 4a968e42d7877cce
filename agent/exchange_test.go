package agent_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular/regulartest"
)

// instructed makes a workspace with instruction files and a session.
func instructed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"AGENTS.md", "sub/AGENTS.md", "sub/deep/AGENTS.md", "s/a.jsonl"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func readInstructed(dir string) {
	_, _ = agent.FindInstructions(dir, "sub/deep", "AGENTS.override.md", "AGENTS.md")
	_, _ = agent.FindInstructions(filepath.Join(dir, "sub"), ".")
	_, _ = agent.ListSessions(filepath.Join(dir, "s"))
	if s, _, err := agent.OpenSession(filepath.Join(dir, "s", "a.jsonl"), agent.SessionOptions{}); err == nil {
		s.Close()
	}
}

// TestNothingElseThanFilesIsRead checks that looking for instructions and sessions ends when a
// FIFO, a socket, a directory or a device has the place of what is read.
func TestNothingElseThanFilesIsRead(t *testing.T) {
	paths := []string{"AGENTS.md", "AGENTS.override.md", "sub", "sub/AGENTS.md", "sub/deep", "sub/deep/AGENTS.md", "s", "s/a.jsonl"}
	regulartest.Each(t, instructed(t), paths, func(_ *testing.T, dir string) { readInstructed(dir) })
}

// TestExchangedInstructions checks that a process that exchanges AGENTS.md and a FIFO, or a folder
// and a FIFO, while the host looks for instructions, does not keep the host waiting.
//
// Evidence: agent · A FIFO exchanged for AGENTS.md while it is read does not hang the host
func TestExchangedInstructions(t *testing.T) {
	dir := instructed(t)
	for _, name := range []string{"AGENTS.md", "sub", "s/a.jsonl"} {
		regulartest.Flip(t, filepath.Join(dir, filepath.FromSlash(name)))
	}
	regulartest.Within(t, func() {
		for range 2000 {
			readInstructed(dir)
		}
	})
}
