package repair

import (
	_ "embed" // the chat template
	"strconv"
	"strings"
)

// Names of the tools and of their arguments.
const (
	ToolRun  = "run_tests"
	ToolRead = "read_function"
	ToolEdit = "edit_line"

	ArgNumber = "number"
	ArgLine   = "line"
	ArgText   = "text"
)

// Template is the model's chat template, in the Jinja dialect of Hugging Face. If the tools of a
// conversation include edit_line, it renders the state of the repair, which is exactly
// [State.Prompt], from the results of the tools alone. Other conversations become plain ChatML.
//
//go:embed template.jinja
var Template string

// State is the model's input for its next decision.
type State struct {
	Report   string // the last report, "" before the first test run
	Function string // the function read last since that report
	Edited   bool   // an edit has not been tested yet
	OK       bool   // the tests pass
}

// Prompt returns the prompt for the model.
func (s State) Prompt() string {
	p := "<|im_start|>user\n"
	if s.Report != "" {
		p += s.Report + "\n"
	}
	if s.Function != "" {
		p += s.Function + "\n"
	}
	switch {
	case s.OK:
		p += "ok\n"
	case s.Edited:
		p += "edited\n"
	}
	return p + "<|im_end|>\n<|im_start|>assistant\n"
}

const end = "<|im_end|>"

// AnswerRun returns the answer that runs the tests.
func AnswerRun() string { return call(ToolRun, "") }

// AnswerRead returns the answer that reads function n of the report.
func AnswerRead(n int) string { return call(ToolRead, arg(ArgNumber, strconv.Itoa(n))) }

// AnswerEdit returns the answer that replaces a line of the function read last by a new text.
func AnswerEdit(line int, text string) string {
	return call(ToolEdit, arg(ArgLine, strconv.Itoa(line))+arg(ArgText, text))
}

// EditedText returns the new text of a line in an answer, which may be incomplete. whole reports
// whether the text is complete; ok is false if it has not begun yet.
func EditedText(answer string) (text string, whole, ok bool) {
	_, text, ok = strings.Cut(answer, argStart(ArgText))
	text, _, whole = strings.Cut(text, "\n")
	return text, whole, ok
}

// AnswerDone returns the answer that ends the work.
func AnswerDone() string { return "Fixed." + end }

func call(name, args string) string {
	return "<tool_call>\n<function=" + name + ">\n" + args + "</function>\n</tool_call>" + end
}

func arg(name, value string) string {
	return argStart(name) + value + "\n</parameter>\n"
}

func argStart(name string) string { return "<parameter=" + name + ">\n" }
