package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path"
	"strings"
	"sync"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/coding"
)

// app connects the agent to the terminal. Lines typed while the agent works are passed to it at
// once (steering), unless a question is waiting for an answer.
type app struct {
	ui      *ui
	coder   *luthier.Coder
	session *agent.Session
	lines   <-chan string

	place              luthier.Workspace // nil in place
	copied             bool              // place is a copy, whose changes are lost with it
	exported, reminded bool

	mu     sync.Mutex
	answer chan string // receives the next line while a question is waiting
}

// readLines reads the terminal in the background for the rest of the program.
func readLines(f *os.File) <-chan string {
	ch := make(chan string)
	go func() {
		defer close(ch)
		for sc := bufio.NewScanner(f); sc.Scan(); {
			ch <- sc.Text()
		}
	}()
	return ch
}

func (a *app) interact() error {
	a.ui.welcome(a.coder, a.session)
	for {
		a.ui.prompt()
		line, ok := <-a.lines
		if !ok {
			a.ui.line("")
			a.leave(context.Background()) // shows what is lost; /export was the way
			return nil
		}
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if done, err := a.command(line); err != nil {
			a.ui.problem(err)
		} else if done && a.leave(context.Background()) {
			return nil
		}
	}
}

const help = `/plan TASK  make a plan without changing anything    /go        carry the plan out
/undo /redo  take back the file changes of a turn      /sessions  list this workspace's sessions
/changes     list the changes in a copy                /export    take them over: to the directory,
/cost        what the session has used                            as patch FILE or branch NAME
/quit        leave (so does ctrl-D)
Lines typed while the agent works are given to it at once. ctrl-C stops it.`

// command runs the command in a line and reports whether to leave.
func (a *app) command(line string) (bool, error) {
	name, rest, _ := strings.Cut(line, " ")
	ctx := context.Background()
	switch name {
	case "/quit", "/exit":
		return true, nil
	case "/help":
		a.ui.line(help)
	case "/undo", "/redo":
		restore := a.coder.Undo
		if name == "/redo" {
			restore = a.coder.Redo
		}
		ref, err := restore(ctx, a.session)
		if err != nil {
			return false, err
		}
		a.ui.note("%s: the files of the turn %q", strings.TrimPrefix(name, "/")+"ne", ref.Label)
	case "/export":
		return false, a.export(ctx, rest)
	case "/changes":
		if a.place == nil {
			return false, errors.New("the agent works in place: git diff shows the changes")
		}
		a.summary(ctx)
	case "/cost":
		u, cost := a.session.Usage()
		a.ui.note("%d tokens in (%d cached), %d out, $%.4f", u.Input, u.CachedInput, u.Output, float64(cost)/1e6)
	case "/sessions":
		infos, err := a.coder.Sessions()
		if err != nil {
			return false, err
		}
		a.ui.sessions(infos)
	case "/plan":
		return false, a.work(func(ctx context.Context) agent.Run { return a.coder.Plan(ctx, a.session, agent.Text{Text: rest}) })
	case "/go":
		return false, a.turn("Carry out the plan.")
	default:
		if strings.HasPrefix(line, "/") && !strings.Contains(name[1:], "/") {
			return false, fmt.Errorf("there is no command %s; try /help", name)
		}
		return false, a.turn(line)
	}
	return false, nil
}

func (a *app) turn(text string) error {
	return a.work(func(ctx context.Context) agent.Run { return a.coder.Run(ctx, a.session, agent.Text{Text: text}) })
}

// work runs the agent and passes lines and ctrl-C to it.
func (a *app) work(start func(ctx context.Context) agent.Run) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ended := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-ended:
				return
			case line, ok := <-a.lines:
				if !ok {
					stop()
					return
				}
				a.deliver(line)
			}
		}
	})
	_, err := a.play(start(ctx))
	close(ended)
	wg.Wait()
	if errors.Is(err, context.Canceled) {
		return nil // ctrl-C; the run has already reported it
	}
	return err
}

// deliver passes a line to the question that is waiting, or else to the agent.
func (a *app) deliver(line string) {
	a.mu.Lock()
	ch := a.answer
	a.answer = nil
	a.mu.Unlock()
	if ch != nil {
		ch <- line
	} else if strings.TrimSpace(line) != "" {
		a.session.Steer(agent.Text{Text: line})
	}
}

// read waits for a line and returns "" if the run ends first.
func (a *app) read(ctx context.Context) string {
	ch := make(chan string, 1)
	a.mu.Lock()
	a.answer = ch
	a.mu.Unlock()
	select {
	case line := <-ch:
		return strings.TrimSpace(line)
	case <-ctx.Done():
		return ""
	}
}

// ask asks the person for permission.
func (a *app) ask(ctx context.Context, req *agent.PermissionRequest, v agent.Verdict) agent.Answer {
	folder := ""
	if len(req.Effects.Writes) > 0 {
		folder = path.Dir(req.Effects.Writes[0])
	}
	a.ui.permission(req, v, folder)
	switch reply := a.read(ctx); {
	case reply == "y" || reply == "yes":
		return agent.Answer{Allow: true}
	case reply == "a":
		return agent.Answer{Allow: true, Scope: agent.GrantExact}
	case reply == "p" && folder != "":
		return agent.Answer{Allow: true, Scope: agent.GrantPath, Prefix: folder}
	case reply == "" || reply == "n" || reply == "no":
		return agent.Answer{}
	default:
		return agent.Answer{Reason: "the user refused it and says: " + reply}
	}
}

// question passes a question of the model to the person.
func (a *app) question(ctx context.Context, q coding.Question) (string, error) {
	a.ui.question(q)
	return a.read(ctx), ctx.Err()
}

// preview records the diff that a call is going to make, for its card: after the call the diff
// could no longer be computed.
func (a *app) preview(next agent.Handler) agent.Handler {
	return func(ctx context.Context, op *agent.Op) error {
		if !op.IsModel() {
			a.ui.remember(op.Call.ID, a.coder.Explain(ctx, a.session, *op.Call).Description)
		}
		return next(ctx, op)
	}
}

// play displays a run.
func (a *app) play(r agent.Run) (*agent.Result, error) {
	var res *agent.Result
	for ev, err := range r {
		if err != nil {
			return res, err
		}
		a.ui.event(ev)
		if d, ok := ev.(agent.Done); ok {
			res = d.Result
		}
	}
	return res, nil
}
