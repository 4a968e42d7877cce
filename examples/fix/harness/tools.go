package harness

import (
	"context"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/repair"
	"github.com/luthier-dev/luthier/tools"
)

type (
	readArgs struct {
		Number int `json:"number" jsonschema:"minimum=1" jsonschema_description:"of the function in the report"`
	}
	editArgs struct {
		Line int    `json:"line" jsonschema:"minimum=1" jsonschema_description:"as read_function numbers it"`
		Text string `json:"text" jsonschema_description:"the whole new line, without indentation"`
	}
)

// registry returns the three tools over a repair. They share its state, so that none runs beside another.
func (r *repairer) registry() (*tools.Registry, error) {
	alone := tools.WithEffects(agent.Writing("."))
	run, err := tools.New(repair.ToolRun, "Runs the tests. After an edit that does not help, the line is put back.",
		func(ctx context.Context, _ struct{}) (string, error) { return r.runTests(ctx) }, alone)
	if err != nil {
		return nil, err
	}
	read, err := tools.New(repair.ToolRead, "Shows a function of the report with numbered lines.",
		func(_ context.Context, in readArgs) (string, error) { return r.readFunction(in.Number), nil }, alone)
	if err != nil {
		return nil, err
	}
	edit, err := tools.New(repair.ToolEdit, "Replaces one line of the function that was read last.",
		func(ctx context.Context, in editArgs) (string, error) { return r.editLine(ctx, in.Line, in.Text), nil }, alone)
	if err != nil {
		return nil, err
	}
	return tools.NewRegistry(run, read, edit)
}
