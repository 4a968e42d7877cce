package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/sandbox"
	"github.com/luthier-dev/luthier/sandbox/remote"
)

// toolhost is the far side of -exec: it serves the coding tools over a directory on its standard
// input and output, to one agent, and ends with it.
func toolhost(args []string) error {
	flags := flag.NewFlagSet("coder toolhost", flag.ExitOnError)
	root := flags.String("root", ".", "the `directory` to work in; changes are made in place")
	noSandbox := flags.Bool("no-sandbox", false, "run programs as plain processes, for containers in which no sandbox can be made")
	unprotect := flags.String("unprotect", "", "comma-separated `names` that programs may change although this machine acts on them later, such as .git for commits")
	_ = flags.Parse(args)
	if flags.NArg() > 0 {
		return fmt.Errorf("toolhost takes no argument %q; name the directory with -root", flags.Arg(0))
	}
	cfg := remote.PipeConfig{Dir: *root, Tools: luthier.ServeTools(luthier.ToolboxOptions{}), Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	cfg.Sandbox.Unprotect = names(*unprotect)
	if *noSandbox {
		cfg.Sandbox.Floor, cfg.Sandbox.Ceiling = sandbox.TierNone, sandbox.TierNone
	}
	cfg.Open = func(ctx context.Context, c sandbox.Config) (sandbox.Sandbox, error) {
		box, err := sandbox.Local(ctx, c)
		if errors.Is(err, sandbox.ErrFloor) {
			err = fmt.Errorf("%w; coder toolhost -no-sandbox runs programs as plain processes there", err)
		}
		return box, err
	}
	pipe := stdio{os.Stdin, os.Stdout}
	os.Stdout = os.Stderr // nothing else may be printed there
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return remote.ServePipe(ctx, pipe, cfg)
}

// stdio is standard input and output.
type stdio struct{ in, out *os.File }

func (s stdio) Read(b []byte) (int, error)  { return s.in.Read(b) }
func (s stdio) Write(b []byte) (int, error) { return s.out.Write(b) }
func (s stdio) Close() error                { return errors.Join(s.in.Close(), s.out.Close()) }

// names splits a flag's value at commas.
func names(value string) (out []string) {
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}
