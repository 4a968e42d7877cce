package router

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// Finding is the result of a check.
type Finding struct {
	Verdict  Judgement
	Feedback string // description of the error, for the model that tries next
}

// VerifyFunc checks an answer. It must honour ctx. An error, a panic or a zero Finding means that
// there is no verdict; the answer is then neither passed nor rejected.
type VerifyFunc func(ctx context.Context, req *agent.Request, resp *agent.Response) (Finding, error)

// VerifyForm rejects unusable answers: answers that are cut off, withheld or empty, that call tools
// that the request does not have, whose arguments are not a JSON object, or whose text is not JSON
// although the request asks for JSON. It does not check whether an answer is right.
func VerifyForm(_ context.Context, req *agent.Request, resp *agent.Response) (Finding, error) {
	if wrong := malformed(req, resp); wrong != "" {
		return Finding{Verdict: Rejected, Feedback: wrong}, nil
	}
	return Finding{Verdict: Passed}, nil
}

func malformed(req *agent.Request, resp *agent.Response) string {
	switch resp.Finish {
	case agent.FinishLength:
		return "The answer was cut at its limit of length."
	case agent.FinishFilter, agent.FinishRefusal:
		return "The answer was withheld."
	}
	text, calls := false, 0
	for _, p := range resp.Message.Parts {
		switch p := p.(type) {
		case agent.Text:
			text = text || strings.TrimSpace(p.Text) != ""
		case agent.ToolCall:
			calls++
			if wrong := malformedCall(req, &p); wrong != "" {
				return wrong
			}
		}
	}
	switch {
	case calls == 0 && !text:
		return "The answer was empty."
	case calls == 0 && req.ToolChoice.Mode == agent.ToolModeRequired, calls == 0 && req.ToolChoice.Mode == agent.ToolModeNamed:
		return "The answer calls no tool, and it must."
	case calls == 0 && req.Output != nil && !json.Valid([]byte(resp.Message.Text())):
		return "The answer is not JSON, and it must be."
	}
	return ""
}

func malformedCall(req *agent.Request, c *agent.ToolCall) string {
	known := false
	for i := range req.Tools {
		known = known || req.Tools[i].Name == c.Name
	}
	switch {
	case !known:
		return fmt.Sprintf("There is no tool %q.", cut(c.Name, 100))
	case !json.Valid(c.Args) || !strings.HasPrefix(strings.TrimSpace(string(c.Args)), "{"):
		return fmt.Sprintf("The arguments of the call of %s are not a JSON object.", c.Name)
	}
	return ""
}

// VerifyWith makes a check from a function that runs something on an answer, such as the tests on
// its edit in a fork of the workspace. The function's result ok reports whether the answer passed;
// output is shown to the model that tries next.
func VerifyWith(run func(ctx context.Context, req *agent.Request, resp *agent.Response) (output string, ok bool, err error)) VerifyFunc {
	return func(ctx context.Context, req *agent.Request, resp *agent.Response) (Finding, error) {
		output, ok, err := run(ctx, req, resp)
		switch {
		case err != nil:
			return Finding{}, err
		case ok:
			return Finding{Verdict: Passed}, nil
		}
		return Finding{Verdict: Rejected, Feedback: output}, nil
	}
}

// VerifyAll combines checks. The first check that rejects an answer decides, so cheap checks should
// come first. An answer that no check rejects is passed if at least one check passed it. An error
// ends the checks without a verdict, unless a check has rejected before.
func VerifyAll(checks ...VerifyFunc) VerifyFunc {
	return func(ctx context.Context, req *agent.Request, resp *agent.Response) (Finding, error) {
		var f Finding
		for _, check := range checks {
			one, err := check(ctx, req, resp)
			if err != nil {
				return Finding{}, err
			}
			if one.Verdict == Rejected {
				return one, nil
			}
			if one.Verdict == Passed {
				f.Verdict = Passed
			}
		}
		return f, nil
	}
}

// beat is the interval between signs of life of a waiting stream.
const beat = 15 * time.Second

// checkWithin runs a check with a time limit. At the interval every, it calls alive, so that the
// reader gets signs of life. An answer that cannot be checked has no verdict. checkWithin returns
// when the check does.
func checkWithin(ctx context.Context, limit, every time.Duration, alive func() bool, check func(context.Context) (Finding, error)) (f Finding, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, limit)
		defer stop()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				f, err = Finding{}, fmt.Errorf("the check panicked: %v", v)
			}
		}()
		f, err = check(ctx)
	}()
	t := time.NewTicker(every)
	defer t.Stop()
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		case <-t.C:
			if !alive() {
				cancel(context.Canceled)
				<-done
				waiting = false
			}
		}
	}
	if err == nil && ctx.Err() != nil && f.Verdict == Unchecked {
		err = context.Cause(ctx)
	}
	if err != nil {
		f = Finding{}
	}
	return f, err
}

// cut shortens a text to the limit by leaving out its middle.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const gap = "\n[…]\n"
	half := max((limit-len(gap))/2, 1)
	return strings.ToValidUTF8(s[:half], "") + gap + strings.ToValidUTF8(s[len(s)-half:], "")
}
