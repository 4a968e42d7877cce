// Command demo shows a coding agent at work, without a key or a network: it makes a git repository
// with a failing test, and the agent finds the fault, edits the file and runs the tests in a
// sandbox.
//
//	go run ./examples/demo [-keep]
//
// The model is a recording: a server on the loopback interface replays the streams of an
// OpenAI-compatible one. Everything else is real, and the same as in a host's own program: the HTTP
// backend, the loop, the tools, the edits, the sandbox.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/openai"
	"github.com/luthier-dev/luthier/sandbox"
)

func main() {
	sandbox.Init()
	keep := flag.Bool("keep", false, "keep the repository, to look at it afterwards")
	flag.Parse()
	if err := run(*keep); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(keep bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	base, err := os.MkdirTemp("", "luthier-demo-")
	if err != nil {
		return err
	}
	if keep {
		defer fmt.Println("the repository is", filepath.Join(base, "repo"))
	} else {
		defer os.RemoveAll(base)
	}
	repo := filepath.Join(base, "repo")
	if err := makeRepo(repo); err != nil {
		return err
	}
	url, stop, err := serveRecording()
	if err != nil {
		return err
	}
	defer stop()

	model, err := openai.New(openai.Config{Model: "recorded", BaseURL: url})
	if err != nil {
		return err
	}
	opts := luthier.Options{Model: model, Autonomy: agent.AutonomySandboxed, StateDir: filepath.Join(base, "state")}
	coder, err := luthier.New(ctx, repo, opts)
	if errors.Is(err, sandbox.ErrFloor) { // this machine offers no sandbox: say so, and continue without
		fmt.Println("no sandbox here, programs run as plain processes:", err)
		opts.NoSandbox, opts.Autonomy = true, agent.AutonomyEdit
		opts.Ask = func(context.Context, *agent.PermissionRequest, agent.Verdict) agent.Answer {
			return agent.Answer{Allow: true}
		}
		coder, err = luthier.New(ctx, repo, opts)
	}
	if err != nil {
		return err
	}
	defer coder.Close()
	s, err := coder.NewSession()
	if err != nil {
		return err
	}
	defer s.Close()
	if err := show(coder.Run(ctx, s, agent.Text{Text: "Make the tests pass."})); err != nil {
		return err
	}
	return showDiff(repo)
}

// show prints a run as it happens.
func show(r agent.Run) error {
	for ev, err := range r {
		if err != nil {
			return err
		}
		switch ev := ev.(type) {
		case agent.TextDelta:
			fmt.Print(ev.Text)
		case agent.CallDone:
			fmt.Printf("\n\n● %s %s (%s)\n", ev.Call.Name, ev.Call.Args, ev.Duration.Round(time.Millisecond))
			fmt.Println("  " + strings.ReplaceAll(strings.TrimSpace(ev.Result.Text()), "\n", "\n  "))
		case agent.MessageAdded:
			fmt.Println()
		case agent.Done:
			fmt.Printf("\n%s: %d steps, %d tool calls, %s\n", ev.Result.Stop, ev.Result.Steps, ev.Result.Calls, ev.Result.Duration.Round(time.Millisecond))
			if ev.Result.Stop != agent.StopDone {
				return errors.New(ev.Result.Detail)
			}
		}
	}
	return nil
}

// makeRepo writes a small Go module with a fault and commits it.
func makeRepo(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "-q", "-m", "A median with a fault"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}

func showDiff(dir string) error {
	out, err := exec.Command("git", "-C", dir, "--no-pager", "diff").CombinedOutput()
	fmt.Printf("\nWhat changed:\n\n%s", out)
	return err
}
