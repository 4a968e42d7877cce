package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/tools"
)

type (
	readArgs struct {
		Number int `json:"number"` // of the function in the report
	}
	editArgs struct {
		Line int    `json:"line"` // as read_function numbers it
		Text string `json:"text"` // the whole new line, without indentation
	}
)

// toolset holds the three tools of a repair. They share its state, so they never run concurrently.
type toolset struct {
	*tools.Registry
	r *repairer
}

// alone returns an option that makes a tool's calls run alone, never concurrently with others.
func alone() tools.Option { return tools.WithEffects(agent.Writing(".")) }

func newToolset(r *repairer) (*toolset, error) {
	t := &toolset{r: r}
	run, err := tools.New(repair.ToolRun, "Runs the tests. After an edit that does not help, the line is put back.",
		func(ctx context.Context, _ struct{}) (string, error) {
			text, err := r.runTests(ctx)
			return text, errors.Join(err, t.narrow())
		}, alone())
	if err != nil {
		return nil, err
	}
	read, err := t.reader(repair.MaxCandidates)
	if err != nil {
		return nil, err
	}
	edit, err := t.editor(9999)
	if err != nil {
		return nil, err
	}
	t.Registry, err = tools.NewRegistry(run, read, edit)
	return t, err
}

// narrow replaces the tools by ones whose schemas allow only the functions of the report and the
// lines of the current function, so that a constrained model cannot request a function or line that
// does not exist.
func (t *toolset) narrow() error {
	functions, lines := t.r.extent()
	if functions > 0 {
		read, err := t.reader(functions)
		if err == nil {
			err = t.Replace(read)
		}
		if err != nil {
			return err
		}
	}
	if lines > 0 {
		edit, err := t.editor(lines)
		if err == nil {
			err = t.Replace(edit)
		}
		return err
	}
	return nil
}

func (t *toolset) reader(functions int) (agent.Tool, error) {
	return tools.New(repair.ToolRead, "Shows a function of the report with numbered lines.",
		func(_ context.Context, in readArgs) (string, error) {
			text := t.r.readFunction(in.Number)
			return text, t.narrow()
		}, alone(), upTo(repair.ArgNumber, functions, ""))
}

func (t *toolset) editor(lines int) (agent.Tool, error) {
	return tools.New(repair.ToolEdit, "Replaces one line of the function that was read last.",
		func(ctx context.Context, in editArgs) (string, error) {
			return t.r.editLine(ctx, in.Line, in.Text), nil
		},
		alone(), upTo(repair.ArgLine, lines, fmt.Sprintf(`,"%s":{"type":"string","pattern":"^[^\\n]{0,%d}$"}`, repair.ArgText, longest)))
}

// longest limits the characters of a new line. A model that repeats itself is then stopped by this
// limit, instead of in the middle of a call when its context is full.
const longest = 240

// upTo returns a schema with a number from 1 to largest, and a text if more is not empty; all are
// required.
func upTo(name string, largest int, more string) tools.Option {
	required := `"` + name + `"`
	if more != "" {
		required += `,"` + repair.ArgText + `"`
	}
	return tools.WithSchema(json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"%s":{"type":"integer","minimum":1,"maximum":%d}%s},"required":[%s],"additionalProperties":false}`,
		name, largest, more, required)))
}
