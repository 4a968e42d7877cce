package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/tools/edit"
)

// ErrCompile is wrapped by the error of a test run with an edit that does not compile.
var ErrCompile = errors.New("it does not compile")

// Counter is a model that can count the tokens of a text.
type Counter interface {
	Tokenize(text string, special bool) []int32
}

// repairer is the state of one repair, shared by the three tools.
type repairer struct {
	c        Case
	function bool             // whether only a single function is offered
	count    func(string) int // number of tokens in a text; nil if the model does not count

	mu      sync.Mutex
	finding *Finding
	report  string
	current int             // number of the function read last; 0 if none
	read    map[int]bool    // functions read since the last edit that was tested
	tried   map[string]bool // token sequences of edited functions that were tried, each prefixed with the function's number
	avoid   map[int][]json.RawMessage
	nowhere []call // calls that were refused or malformed in the current state, and would be so again
	pending *Edit
	fixed   *Edit
	edits   []Edit // edits that were tested
	refused int
	fatal   error // the error of tests that could not be run
}

func newRepairer(c Case, functionScope bool) *repairer {
	return &repairer{c: c, function: functionScope, read: map[int]bool{}, tried: map[string]bool{}, avoid: map[int][]json.RawMessage{}}
}

// runTests is the tool run_tests.
func (r *repairer) runTests(ctx context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.fixed != nil:
		return repair.ResultOK, nil
	case r.pending != nil:
		return r.test(ctx)
	case r.finding != nil:
		return r.report, nil
	}
	f, err := r.c.Find(ctx)
	if err != nil {
		r.fatal = err
		return "", err
	}
	if n := repair.MaxCandidates; len(f.Ranked) > n {
		f.Ranked = f.Ranked[:n]
	}
	if r.function {
		f.Ranked = f.Ranked[:min(1, len(f.Ranked))]
	}
	names := make([]string, len(f.Ranked))
	for i, fn := range f.Ranked {
		names[i] = fn.Name
	}
	r.finding, r.nowhere = f, nil
	r.report = repair.Report{Failed: f.Failed, Output: repair.Digest(f.Output, repair.DigestBudget), Functions: names}.String()
	return r.report, nil
}

// test runs the tests with the pending edit.
func (r *repairer) test(ctx context.Context) (string, error) {
	e := r.pending
	r.nowhere = nil
	v, err := r.c.Test(ctx, e)
	if errors.Is(err, ErrCompile) { // the type checker alone did not find this error
		r.pending = nil
		r.refused++
		return repair.ResultFailing, nil
	}
	if err != nil {
		r.fatal = err
		return "", err
	}
	r.pending = nil
	r.edits = append(r.edits, *e)
	clear(r.read)
	r.read[r.current] = true
	if v.OK {
		r.fixed = e
		return repair.ResultOK, nil
	}
	return repair.ResultFailing, nil
}

// readFunction is the tool read_function.
func (r *repairer) readFunction(n int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.finding == nil:
		return r.refuse("run the tests first")
	case r.pending != nil:
		return r.refuse("an edit waits for its test run")
	case n < 1 || n > len(r.finding.Ranked):
		return r.refuse(fmt.Sprintf("there is no function %d in the report", n))
	}
	r.current, r.nowhere = n, nil
	r.read[n] = true
	return r.finding.Ranked[n-1].ReadBeside(r.report, n, r.count)
}

// editLine is the tool edit_line.
func (r *repairer) editLine(ctx context.Context, line int, text string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.current == 0:
		return r.refuse("read a function first")
	case r.pending != nil:
		return r.refuse("an edit waits for its test run")
	}
	if args, err := json.Marshal(editArgs{line, text}); err == nil {
		r.avoid[r.current] = append(r.avoid[r.current], args)
	}
	e, err := r.prepare(ctx, line, text)
	if err != nil {
		return r.refuse(strings.TrimPrefix(err.Error(), "repair: edit line: "))
	}
	r.pending, r.nowhere = e, nil
	return repair.ResultEdited(line)
}

// prepare makes the edit, or returns an error with the reason to refuse it.
func (r *repairer) prepare(ctx context.Context, line int, text string) (*Edit, error) {
	f := r.finding.Ranked[r.current-1].Function
	before, err := r.c.Source(f.File)
	if err != nil {
		return nil, err
	}
	after, err := repair.Apply(before, f, line, text)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprint(r.current, " ", repair.Tokens(f.Edited(line, text)))
	if r.tried[key] {
		return nil, errors.New("it was tried before")
	}
	if err := r.c.Check(ctx, f.File, after); err != nil {
		return nil, err
	}
	r.tried[key] = true // not earlier: code with the same tokens may compile if its white space is different
	e := &Edit{Number: r.current, Function: f, Line: line, Old: strings.TrimSpace(strings.Split(f.Text, "\n")[line-1]),
		New: strings.TrimSpace(text), Before: before, After: after}
	return e, e.confirm()
}

// confirm makes the same edit with the edit engine, as a change of one function in the file that
// was read, and compares the results. It would detect a line in the wrong place.
func (e *Edit) confirm() error {
	from, to := e.Replacement()
	res, err := edit.Replace(string(e.Before), edit.Replacement{Old: from, New: to, Base: string(e.Before)})
	if err != nil {
		return err
	}
	if res.Content != string(e.After) {
		return errors.New("the edit engine and the line editor disagree")
	}
	return nil
}

// Replacement returns the edit as a text that occurs in the file exactly once, and the text that
// replaces it.
func (e *Edit) Replacement() (from, to string) {
	lines := strings.SplitAfter(string(e.Before), "\n")
	edited := strings.SplitAfter(string(e.After), "\n")
	once := func(s string) bool { // strings.Count does not count overlapping occurrences
		return strings.Index(string(e.Before), s) == strings.LastIndex(string(e.Before), s)
	}
	i := e.Function.Start + e.Line - 2
	lo, hi := i, i+1
	for {
		from, to = strings.Join(lines[lo:hi], ""), strings.Join(edited[lo:hi], "")
		if strings.TrimSpace(from) != "" && once(from) || lo == 0 && hi == len(lines) {
			return from, to
		}
		lo, hi = max(lo-1, 0), min(hi+1, len(lines))
	}
}

func (r *repairer) refuse(why string) string {
	r.refused++
	return repair.ResultRefused(why)
}

// call is a tool call to exclude.
type call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// made returns the calls that would bring no progress: edits that were already tried in the current
// function, reading a function again that was not edited since, and another run of the same tests.
func (r *repairer) made() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finding == nil || r.pending != nil || r.fixed != nil {
		return r.nowhere
	}
	calls := append(slices.Clone(r.nowhere), call{repair.ToolRun, json.RawMessage(`{}`)})
	for n := range len(r.finding.Ranked) + 1 {
		if n == r.current || r.read[n] {
			args, _ := json.Marshal(readArgs{n})
			calls = append(calls, call{repair.ToolRead, args})
		}
	}
	for _, args := range r.avoid[r.current] {
		calls = append(calls, call{repair.ToolEdit, args})
	}
	return calls
}

// done reports whether the tests pass.
func (r *repairer) done() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fixed != nil
}

// found returns the finding, or nil if the tests have not run yet.
func (r *repairer) found() *Finding {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.finding
}

// tested returns the number of edits that were tested.
func (r *repairer) tested() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.edits)
}

// failed returns the reason why the tests could not be run, or nil if they could.
func (r *repairer) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fatal
}

// reading returns the name of the function read last.
func (r *repairer) reading() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == 0 {
		return ""
	}
	return r.finding.Ranked[r.current-1].Name
}

// parts returns the parts of the function read last, or none if it was read whole.
func (r *repairer) parts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == 0 {
		return nil
	}
	return r.finding.Ranked[r.current-1].Parts(r.report, r.current, r.count)
}

// words returns the words that an edit of the function read last may have, or nil if they are not
// known.
func (r *repairer) words(ctx context.Context) *repair.Words {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.c.(Speller)
	if !ok || r.current == 0 {
		return nil
	}
	return s.Words(ctx, r.finding.Ranked[r.current-1].File)
}

// number returns the number of the function read last if it may be edited now, otherwise 0.
func (r *repairer) number() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending != nil {
		return 0
	}
	return r.current
}

// unread reports whether the report lists a function that was not read since the last tested edit.
func (r *repairer) unread() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finding == nil {
		return false
	}
	for i := range r.finding.Ranked {
		if n := i + 1; n != r.current && !r.read[n] {
			return true
		}
	}
	return false
}

// extent returns the number of functions in the report and the number of lines in the function read
// last. Each is 0 if there is none.
func (r *repairer) extent() (functions, lines int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finding == nil {
		return 0, 0
	}
	if r.current > 0 {
		lines = strings.Count(r.finding.Ranked[r.current-1].Text, "\n") + 1
	}
	return len(r.finding.Ranked), lines
}

// leadsNowhere records a call that was refused.
func (r *repairer) leadsNowhere(name string, args json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if json.Valid(args) { // a truncated call cannot be excluded by name
		r.nowhere = append(r.nowhere, call{name, args})
	}
}
