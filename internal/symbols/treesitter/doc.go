// Package treesitter finds symbols with tree-sitter's grammars, for hosts that build with cgo.
//
// It is optional: [symbols.Of] does without it, and takes a tenth of the time. It adds exactness in
// code of unusual form. It costs about 9 MB of program and some 14 seconds of a C compiler, and a
// fault in a grammar's C code would end the process. So a host asks for it by importing it and
// passing [New]'s value.
//
// Python, JavaScript, TypeScript, TSX, Rust, Java, C and C++ are in; with the build tag
// luthier_allgrammars also C#, PHP and Ruby. Other languages, files that do not parse, and the
// parts of a file that do not, are read as [symbols.Of] does. Without cgo, or with the tag
// luthier_nosymbols, the package still builds, and everything is read that way.
package treesitter

import "github.com/luthier-dev/luthier/internal/symbols"

var _ symbols.Parser = (*Parser)(nil)
