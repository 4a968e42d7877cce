// Package treesitter finds symbols with tree-sitter's grammars, for hosts that build with cgo.
//
// The package is optional: [symbols.Of] works without it, in a tenth of the time. It is more exact
// in code of unusual form. It adds about 9 MB to a program and some 14 seconds of C compilation,
// and a fault in a grammar's C code would end the process. So it is used only if a host imports it
// and passes the result of [New].
//
// There are grammars for Python, JavaScript, TypeScript, TSX, Rust, Java, C and C++, and with the
// build tag luthier_allgrammars also for C#, PHP and Ruby. Other languages, and files or parts of
// files that do not parse, are read as by [symbols.Of]. Without cgo, or with the tag
// luthier_nosymbols, the package still builds and reads everything as [symbols.Of] does.
package treesitter

import "github.com/luthier-dev/luthier/internal/symbols"

var _ symbols.Parser = (*Parser)(nil)
