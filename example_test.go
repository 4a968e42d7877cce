package luthier_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// A complete agent over a directory. The model here is scripted; any backend takes its place.
func ExampleNew() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, "work")
	if err := os.Mkdir(dir, 0o755); err != nil {
		fmt.Println(err)
		return
	}

	model := agenttest.Script(
		agenttest.Call("1", "write", `{"path":"hello.txt","content":"hello\n"}`),
		agenttest.Text("I wrote hello.txt."),
	)
	a, err := luthier.New(context.Background(), dir, luthier.Options{
		Model:     model,
		Autonomy:  agent.AutonomyEdit, // files of the workspace may be written without asking
		NoSandbox: true,               // nothing is run here; leave it out to run programs in a sandbox
		StateDir:  filepath.Join(tmp, "state"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()

	s := agent.NewSession()
	res, err := a.Run(context.Background(), s, agent.Text{Text: "Write hello.txt."}).Collect()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text())
	text, _ := os.ReadFile(filepath.Join(dir, "hello.txt"))
	fmt.Printf("%s", text)

	if _, err := a.Undo(context.Background(), s); err != nil {
		fmt.Println(err)
	}
	_, err = os.Stat(filepath.Join(dir, "hello.txt"))
	fmt.Println("after undo:", os.IsNotExist(err))
	// Output:
	// I wrote hello.txt.
	// hello
	// after undo: true
}
