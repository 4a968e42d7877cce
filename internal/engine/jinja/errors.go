package jinja

import "fmt"

// SyntaxError reports a template that cannot be parsed.
type SyntaxError struct {
	Line    int    // from 1
	Message string // what is wrong, and what was expected
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("jinja: parse line %d: %s", e.Line, e.Message)
}

// RenderError reports a template that failed while it was rendered.
type RenderError struct {
	Line    int    // line of the statement that failed, from 1
	Kind    string // the Python exception, such as UndefinedError or TypeError; TemplateError for raise_exception; LimitError for a limit in Options
	Message string // in the wording of Python and Jinja2
}

func (e *RenderError) Error() string {
	return fmt.Sprintf("jinja: render line %d: %s: %s", e.Line, e.Kind, e.Message)
}

// fault is an error whose line is not known yet.
type fault struct{ kind, msg string }

func (f *fault) Error() string { return f.kind + ": " + f.msg }

func typeError(format string, args ...any) error {
	return &fault{"TypeError", fmt.Sprintf(format, args...)}
}

func valueError(format string, args ...any) error {
	return &fault{"ValueError", fmt.Sprintf(format, args...)}
}

func limitError(format string, args ...any) error {
	return &fault{"LimitError", fmt.Sprintf(format, args...)}
}

// maxValueDepth limits the nesting of values that are printed, compared or read; Python's recursion
// limit is the same.
const maxValueDepth = 1000

var errValueDepth = &fault{"RecursionError", fmt.Sprintf("value is nested more than %d levels deep", maxValueDepth)}

// at sets the line of the statement that failed in err, unless an inner statement has already set
// it.
func at(line int, err error) error {
	if f, ok := err.(*fault); ok {
		return &RenderError{Line: line, Kind: f.kind, Message: f.msg}
	}
	return err
}
