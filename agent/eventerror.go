package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"time"
)

// wireError is the wire form of an error: its text and kind, with what it wraps.
type wireError struct {
	Text   string
	Kind   ErrorKind        // of the first ModelError in it; empty if there is none
	Model  *wireModelError  // if it is a *ModelError itself
	Output *wireOutputError // if it is an *OutputError itself
	Is     []string         // the well-known errors that it stands for
	Causes []wireError      // what it wraps
}

type wireModelError struct {
	Status     int
	RetryAfter time.Duration
	Provider   string
	RequestID  string
}

type wireOutputError struct {
	Name     string
	Attempts int
}

// knownErrors lists errors that programs compare with.
var knownErrors = []struct {
	name string
	err  error
}{
	{"context.Canceled", context.Canceled},
	{"context.DeadlineExceeded", context.DeadlineExceeded},
	{"io.EOF", io.EOF},
	{"io.ErrUnexpectedEOF", io.ErrUnexpectedEOF},
	{"fs.ErrNotExist", fs.ErrNotExist},
	{"fs.ErrExist", fs.ErrExist},
	{"fs.ErrPermission", fs.ErrPermission},
	{"fs.ErrClosed", fs.ErrClosed},
	{"errors.ErrUnsupported", errors.ErrUnsupported},
	{"agent.ErrBusy", ErrBusy},
	{"agent.ErrNothingToUndo", ErrNothingToUndo},
}

// toWireError returns the wire form of an error, and of what it wraps down to a depth.
func toWireError(err error, depth int) wireError {
	w := wireError{Text: errorText(err)}
	if v := reflect.ValueOf(err); v.Kind() == reflect.Pointer && v.IsNil() {
		return w
	}
	if e, ok := err.(*DecodedError); ok {
		w.Is = e.is
	}
	var causes []error
	switch e := err.(type) {
	case *ModelError:
		w.Kind = e.Kind
		w.Model = &wireModelError{Status: e.Status, RetryAfter: e.RetryAfter, Provider: e.Provider, RequestID: e.RequestID}
		causes = []error{e.Err}
	case *OutputError:
		w.Output = &wireOutputError{Name: e.Name, Attempts: e.Attempts}
		causes = []error{e.Err}
	case ErrorKind:
		w.Kind = e
	case interface{ Unwrap() error }:
		causes = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		causes = e.Unwrap()
	}
	for _, c := range causes {
		if c != nil && depth > 0 {
			w.Causes = append(w.Causes, toWireError(c, depth-1))
		}
	}
	if len(w.Causes) == 0 {
		w.Is = known(err, w.Is)
	}
	for i := 0; i < len(w.Causes) && w.Kind == ""; i++ {
		w.Kind = w.Causes[i].Kind
	}
	return w
}

// known adds the names of the well-known errors that err stands for.
func known(err error, names []string) []string {
	for _, k := range knownErrors {
		if errors.Is(err, k.err) && !slices.Contains(names, k.name) {
			names = append(names, k.name)
		}
	}
	return names
}

// errorText is err.Error() that survives a faulty error, such as a nil pointer in an interface.
func errorText(err error) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprintf("(an error of type %T without a text)", err)
		}
	}()
	return err.Error()
}

// error returns the error of a wire form.
func (w *wireError) error() error {
	causes := make([]error, len(w.Causes))
	for i := range w.Causes {
		causes[i] = w.Causes[i].error()
	}
	var first error
	if len(causes) > 0 {
		first = causes[0]
	}
	var err error
	switch {
	case w.Model != nil:
		err = &ModelError{Kind: w.Kind, Status: w.Model.Status, RetryAfter: w.Model.RetryAfter, Provider: w.Model.Provider, RequestID: w.Model.RequestID, Err: first}
	case w.Output != nil && first != nil:
		err = &OutputError{Name: w.Output.Name, Attempts: w.Output.Attempts, Err: first}
	case len(causes) == 0 && w.Kind != "" && w.Text == string(w.Kind):
		err = w.Kind
	case len(causes) == 0 && len(w.Is) > 0:
		for _, k := range knownErrors {
			if k.name == w.Is[0] {
				err = k.err
			}
		}
	}
	if err != nil && err.Error() == w.Text {
		return err
	}
	return &DecodedError{Text: w.Text, causes: causes, is: w.Is}
}

// DecodedError is an error that [UnmarshalEvent] read. It has the text of the original, wraps what
// that wrapped, and is the same well-known errors for errors.Is.
type DecodedError struct {
	Text   string
	causes []error
	is     []string
}

// Error returns the text of the original.
func (e *DecodedError) Error() string { return e.Text }

// Unwrap returns what the original wrapped.
func (e *DecodedError) Unwrap() []error { return e.causes }

// Is reports whether target is a well-known error that the original stood for.
func (e *DecodedError) Is(target error) bool {
	for _, k := range knownErrors {
		if k.err == target && slices.Contains(e.is, k.name) {
			return true
		}
	}
	return false
}
