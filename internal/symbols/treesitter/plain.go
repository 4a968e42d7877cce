//go:build !cgo || luthier_nosymbols

package treesitter

import "github.com/luthier-dev/luthier/internal/symbols"

// A Parser finds symbols. In this build it has no grammars.
type Parser struct{ symbols.Plain }

// New returns a parser without grammars.
func New() *Parser { return &Parser{} }

// Grammars returns the file extensions that have a grammar: none in this build.
func (*Parser) Grammars() []string { return nil }
