package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/internal/argcheck"
)

// DefaultMaxArgs is the maximum number of bytes in a call's arguments: 16 MiB.
const DefaultMaxArgs = argcheck.DefaultMaxBytes

// RepairArgs repairs the arguments of a tool call so that schema accepts them. It also describes
// each repair in words.
//
// Valid arguments are returned unchanged, byte for byte, without notes. The returned JSON is always
// valid and accepted by the schema. If the arguments cannot be repaired without guessing, or if
// text was cut off, RepairArgs returns an error that lists every fault and the correct shape. With
// an empty schema only the syntax is repaired. Empty arguments become an empty object. The time is
// linear in the length of args, which may be at most [DefaultMaxArgs].
//
// RepairArgs compiles schema on every call; a tool from [New] or in a [Registry] does so once.
func RepairArgs(schema, args json.RawMessage) (json.RawMessage, []string, error) {
	c, err := argcheck.Compile(schema, argcheck.Config{})
	if err != nil {
		return nil, nil, fmt.Errorf("tools: repair arguments: %w", err)
	}
	out, notes, err := c.Repair(args)
	if err != nil {
		return nil, nil, fmt.Errorf("tools: repair arguments: %w", argsError("", err))
	}
	return out, notes, nil
}

// ArgsError reports why the arguments of a call were refused. Its text is meant for the model that
// wrote them.
type ArgsError struct {
	Tool      string   // "" if no tool is involved
	Faults    []string // each names the argument concerned
	Truncated bool     // the arguments were cut off, so the model should send less at a time

	text  string
	cause error
}

// Error lists the faults and the correct shape.
func (e *ArgsError) Error() string {
	if e.Tool == "" {
		return e.text
	}
	return e.Tool + " was not run: " + e.text
}

// Unwrap returns the error of [WithCheck], if the check refused the arguments.
func (e *ArgsError) Unwrap() error { return e.cause }

func argsError(tool string, err error) error {
	ae, ok := errors.AsType[*argcheck.Error](err)
	if !ok {
		return &ArgsError{Tool: tool, Faults: []string{err.Error()}, text: err.Error()}
	}
	return &ArgsError{Tool: tool, Faults: ae.Faults, Truncated: ae.Truncated, text: ae.Error()}
}

// noteLine returns the line that informs the model of repairs to its arguments.
func noteLine(notes []string) string {
	return "[Your arguments were repaired: " + strings.Join(notes, "; ") + ". Write them in that form next time.]"
}

// noteResult adds a line about repairs to a copy of the tool's result.
func noteResult(res *agent.ToolResult, notes []string) *agent.ToolResult {
	if len(notes) == 0 {
		return res
	}
	if res == nil {
		res = agent.TextResult("(no output)")
	}
	out := *res
	out.Parts = slices.Clone(res.Parts)
	line := noteLine(notes)
	if n := len(out.Parts); n > 0 {
		if last, ok := out.Parts[n-1].(agent.Text); ok {
			if last.Text != "" && !strings.HasSuffix(last.Text, "\n") {
				last.Text += "\n"
			}
			out.Parts[n-1] = agent.Text{Text: last.Text + line}
			return &out
		}
	}
	out.Parts = append(out.Parts, agent.Text{Text: line})
	return &out
}

// noteError adds a line about repairs to an error.
func noteError(err error, notes []string) error {
	if len(notes) == 0 {
		return err
	}
	return fmt.Errorf("%w\n%s", err, noteLine(notes))
}
