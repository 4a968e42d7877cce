// Command sandbox runs one command in a sandbox over a directory, or serves sandboxes to others.
//
//	go run ./examples/sandbox -dir DIR [-net NAME,...] [-inplace [-unprotect NAME,...]] [-timeout D] [limits] [-v] -- cmd args...
//	LUTHIER_TOKEN=… go run ./examples/sandbox -serve ADDR [-tools] [-state DIR] [-net NAME,...]
//
// The limits are -mem-process, -mem-total, -processes, -cpu, -disk and -inodes; -v prints by what
// each is kept.
//
// The command gets what comes to this program's standard input, and its output goes to this
// program's; it never holds a terminal. Changes stay in the sandbox unless -inplace is given. In
// place, what the host executes later is read-only, .git among it; a command that commits needs
// -unprotect .git. It can reach only the hosts named by -net. With -v, what was refused is printed
// at the end. The exit
// status is the command's; it is 124 after a timeout, 125 if no sandbox was available, and 126 or
// 127 if the command could not be run.
//
// With -serve it is an environment server; package sandbox/remote is the client. With -tools the
// coding tools run next to its sandboxes, so that "coder -remote http://ADDR" works there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

const (
	statusTimeout   = 124
	statusNoSandbox = 125
	statusNoExec    = 126
	statusNotFound  = 127
)

type options struct {
	dir, net, floor     string
	mem, memTotal, disk string
	processes, inodes   int64
	cpu                 float64
	timeout             time.Duration
	inPlace, verbose    bool
	unprotect           string
	serve, state        string
	tools               bool
	args                []string
}

func main() {
	sandbox.Init()
	var o options
	flag.StringVar(&o.dir, "dir", ".", "workspace `directory`")
	flag.StringVar(&o.net, "net", "", "comma-separated host `names` the command may reach at ports 80 and 443; *.example.com and example.com:8443 are understood")
	flag.StringVar(&o.mem, "mem-process", "", "limit of the private writable memory of each process, such as 512M or 2G")
	flag.StringVar(&o.mem, "mem", "", "old name of -mem-process")
	flag.StringVar(&o.memTotal, "mem-total", "", "limit of the memory of all processes together, such as 2G")
	flag.Int64Var(&o.processes, "processes", 0, "limit of processes and threads (default 4096)")
	flag.Float64Var(&o.cpu, "cpu", 0, "limit of processor time, as a number of processors such as 1.5; it needs a control group")
	flag.Int64Var(&o.inodes, "inodes", 0, "limit of files and directories on -disk (default one for every 4 KiB)")
	flag.StringVar(&o.disk, "disk", "", "limit of all that the command writes but in place, such as 512M; it is kept in memory then")
	flag.DurationVar(&o.timeout, "timeout", 0, "wall time limit, such as 30s")
	flag.BoolVar(&o.inPlace, "inplace", false, "change the directory itself instead of a private view of it")
	flag.StringVar(&o.unprotect, "unprotect", "", "comma-separated `names` that are read-only in place and that the command may change, such as .git for commits")
	flag.StringVar(&o.floor, "floor", "namespaces", "lowest isolation `tier` accepted: namespaces, bubblewrap, landlock or none")
	flag.BoolVar(&o.verbose, "v", false, "print the isolation report and the changed files on stderr")
	flag.StringVar(&o.serve, "serve", "", "serve sandboxes at this `address`, such as 127.0.0.1:8080, to those who have the token in LUTHIER_TOKEN")
	flag.BoolVar(&o.tools, "tools", false, "with -serve: run the coding tools next to the sandboxes")
	flag.StringVar(&o.state, "state", "", "with -serve: the server's own `directory` (default: a temporary one)")
	flag.Parse()
	o.args = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status, err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

func run(ctx context.Context, o options) (int, error) {
	if o.serve != "" {
		if err := serve(ctx, o); err != nil {
			return statusNoSandbox, err
		}
		return 0, nil
	}
	if len(o.args) == 0 {
		return statusNoSandbox, errors.New("usage: sandbox [flags] -- command args...")
	}
	cfg, err := config(o)
	if err != nil {
		return statusNoSandbox, err
	}
	sb, err := sandbox.Local(ctx, cfg)
	if err != nil {
		return statusNoSandbox, err
	}
	defer sb.Close()
	if o.verbose {
		fmt.Fprint(os.Stderr, sb.Isolation())
	}
	exit, err := sb.Exec(ctx, sandbox.Cmd{
		Args: o.args, Stdin: os.Stdin, Timeout: o.timeout, Limit: -1,
		OnOutput: func(s sandbox.Stream, b []byte) {
			var w io.Writer = os.Stdout
			if s == sandbox.Stderr {
				w = os.Stderr
			}
			_, _ = w.Write(b)
		},
	})
	switch {
	case exit == nil && errors.Is(err, exec.ErrNotFound):
		return statusNotFound, err
	case exit == nil && errors.Is(err, sandbox.ErrClosed):
		return statusNoSandbox, err
	case exit == nil:
		return statusNoExec, err
	case exit.TimedOut:
		return statusTimeout, fmt.Errorf("sandbox: %v", exit)
	}
	if exit.Hint != "" {
		fmt.Fprintf(os.Stderr, "sandbox: %s%s\n", exit.Hint, unprotectFlag(exit.Hint))
	}
	if o.verbose {
		for _, d := range exit.Denials {
			fmt.Fprintln(os.Stderr, "denied:", d)
		}
	}
	if d, ok := sandbox.As[sandbox.Differ](sb); ok && o.verbose && !o.inPlace {
		changes, diffErr := d.Changes(ctx)
		for _, c := range changes {
			fmt.Fprintf(os.Stderr, "%-8s %s\n", c.Kind, c.Path)
		}
		err = errors.Join(err, diffErr)
	}
	return exit.Code, err
}

// unprotectFlag names the flag for a hint.
func unprotectFlag(hint string) string {
	if strings.Contains(hint, "Config.Unprotect") {
		return " (-unprotect)"
	}
	return ""
}

func config(o options) (cfg sandbox.Config, err error) {
	if cfg.Floor, err = sandbox.ParseTier(o.floor); err != nil {
		return cfg, err
	}
	if o.inPlace {
		cfg.Dir = o.dir
	} else {
		cfg.Snapshot = sandbox.SnapshotDir(o.dir)
	}
	cfg.Net, cfg.Unprotect = list(o.net), list(o.unprotect)
	if len(cfg.Unprotect) > 0 && !o.inPlace {
		return cfg, errors.New("sandbox: -unprotect needs -inplace: nothing is protected in a private view")
	}
	cfg.Limits.Processes, cfg.Limits.Inodes, cfg.Limits.CPU = o.processes, o.inodes, o.cpu
	for _, size := range []struct {
		flag, text string
		to         *int64
	}{{"-mem-process", o.mem, &cfg.Limits.Memory}, {"-mem-total", o.memTotal, &cfg.Limits.MemoryTotal}, {"-disk", o.disk, &cfg.Limits.Disk}} {
		if size.text == "" {
			continue
		}
		if *size.to, err = parseSize(size.flag, size.text); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}

// list splits a flag's value at commas.
func list(value string) (names []string) {
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// parseSize reads a number of bytes with an optional K, M or G.
func parseSize(flag, s string) (int64, error) {
	digits := strings.TrimRight(strings.ToUpper(s), "IB")
	shift := 0
	for i, unit := range "KMG" {
		if rest, ok := strings.CutSuffix(digits, string(unit)); ok {
			digits, shift = rest, 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > (1<<62)>>shift {
		return 0, fmt.Errorf("sandbox: %s %q is no size; write it like 512M", flag, s)
	}
	return n << shift, nil
}
