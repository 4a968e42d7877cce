//go:build cgo && !luthier_nosymbols && !luthier_allgrammars

package treesitter

func moreGrammars() []grammar { return nil }
