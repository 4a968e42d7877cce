package luthier_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/remote"
)

// toolhostFlag in the environment makes this test binary a toolhost over the directory that it
// names.
const toolhostFlag = "LUTHIER_TEST_TOOLHOST"

// serveToolhost serves standard input and output until the other side ends.
func serveToolhost(dir string) int {
	err := remote.ServePipe(context.Background(), stdio{}, remote.PipeConfig{Dir: dir, Sandbox: sandbox.Config{Unprotect: []string{".git"}},
		Tools: luthier.ServeTools(luthier.ToolboxOptions{Customize: waitForIndex})})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// stdio is standard input and output.
type stdio struct{}

func (stdio) Read(b []byte) (int, error)  { return os.Stdin.Read(b) }
func (stdio) Write(b []byte) (int, error) { return os.Stdout.Write(b) }
func (stdio) Close() error                { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }

// toolhost is a command that runs a toolhost over a directory.
func toolhost(dir string) luthier.Source {
	return luthier.Command("sh", "-c", toolhostFlag+`="$1" exec "$0"`, os.Args[0], dir)
}
