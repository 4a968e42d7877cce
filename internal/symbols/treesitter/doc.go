// Package treesitter finds symbols with tree-sitter's grammars, for hosts that build with cgo.
//
// It is never needed: [symbols.Of] does without it, and takes a tenth of the time. What it adds is
// exactness in code of unusual form. What it costs is about 9 MB of program, a C compiler and some
// 14 seconds of its time, and that a fault in a grammar's C code would end the process. So a host
// asks for it by importing it and passing [New]'s value.
//
// Python, JavaScript, TypeScript, TSX, Rust, Java, C and C++ are in; with the build tag
// luthier_allgrammars also C#, PHP and Ruby. Other languages, files that do not parse, and the
// parts of a file that do not, are read as [symbols.Of] does. Without cgo, or with the tag
// luthier_nosymbols, the package builds all the same and all is read so.
package treesitter

import "github.com/luthier-dev/luthier/internal/symbols"

var _ symbols.Parser = (*Parser)(nil)
