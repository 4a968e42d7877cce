// Package jinja renders the chat templates that language models ship with.
//
// It is the part of Jinja2 such templates use, configured as Hugging Face's transformers configures
// it: a sandbox with trim_blocks and lstrip_blocks, the break and continue tags, the generation
// tag, and the functions raise_exception and strftime_now, with a tojson filter that neither
// escapes HTML nor sorts keys. Text is rendered as Python would render it: True and None, 1.0 and
// 1e+16, repr quoting inside lists, dicts in insertion order, generators that run out once.
//
//	t, err := jinja.Parse(source)             // errors carry a line; a *Template is read-only and may be shared
//	v, err := jinja.FromJSON(requestBody)     // keeps the order of keys
//	text, err := t.Render(v.(*jinja.Dict), jinja.Options{})
//
// # Trust
//
// A template is untrusted code: it comes inside a model file that somebody else made. Parsing
// bounds nesting, and rendering bounds steps (Options.Fuel), text (Options.MaxOutput) and
// recursion, so that a hostile template ends in an error. A template sees its variables, the
// built-in functions and nothing else: include, import and extends are refused, and as in the
// immutable sandbox a list or dict cannot be changed unless Options.AllowMutation says so.
//
// # Where things are
//
// The lexer feeds the parser, which builds the tree in ast.go; names are resolved to slots once
// (scope.go), and eval_*.go walks the tree. Filters, tests, methods and global functions are rows
// of tables (filters_*.go, tests.go, methods_*.go, globals.go): a row names its parameters as
// Python does, and bind (call.go) matches the arguments, so adding one is a function and a row.
//
// # Limits
//
//   - Missing: include, import, extends, super, self, lipsum, the filters urlize and random,
//     encode, translate and maketrans of strings, sets, complex numbers, and \N{…} escapes. Each is
//     undefined or an error that names it.
//   - pprint does not break long values over lines. Powers with a fractional exponent may differ in
//     the last digit.
//   - strftime uses the C locale and a clock without zone, so %z and %Z are empty.
package jinja
