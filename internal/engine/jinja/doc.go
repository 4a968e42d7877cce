// Package jinja renders the chat templates that come with language models.
//
// It implements the part of Jinja2 that such templates use, with the configuration of Hugging
// Face's transformers: a sandbox with trim_blocks and lstrip_blocks, the break and continue tags,
// the generation tag, and the functions raise_exception and strftime_now, with a tojson filter that
// neither escapes HTML nor sorts keys. It adds the filter from_json (also fromjson), which other
// engines have. Text is rendered as Python would render it: True and None, 1.0 and 1e+16, repr
// quoting inside lists, dicts in insertion order, generators that can be consumed only once.
//
//	t, err := jinja.Parse(source)             // errors carry a line; a *Template is read-only and may be shared
//	v, err := jinja.FromJSON(requestBody)     // keeps the order of keys
//	text, err := t.Render(v.(*jinja.Dict), jinja.Options{})
//
// # Trust
//
// A template is untrusted code: it comes with a model file that somebody else made. Parsing limits
// nesting, and rendering limits steps (Options.Fuel), text (Options.MaxOutput) and recursion, so
// that a hostile template results in an error. A template can access only its variables and the
// built-in functions: include, import and extends are refused, and as in Jinja2's immutable
// sandbox, a list or dict cannot be changed unless Options.AllowMutation is set.
//
// # Where things are
//
// The lexer supplies tokens to the parser, which builds the tree in ast.go; names are resolved to
// slots once (scope.go), and eval_*.go walks the tree. Filters, tests, methods and global functions
// are rows of tables (filters_*.go, tests.go, methods_*.go, globals.go): a row has the parameters'
// names as in Python, and bind (call.go) matches the arguments. So to add one, write a function and
// a row.
//
// # Limits
//
//   - Missing: include, import, extends, super, self, lipsum, the filters urlize and random,
//     encode, translate and maketrans of strings, sets, complex numbers, and \N{…} escapes. Each is
//     undefined or results in an error that names it.
//   - pprint does not split long values into several lines. Powers with a fractional exponent may
//     differ in the last digit.
//   - strftime uses the C locale and a clock without zone, so %z and %Z are empty.
package jinja
