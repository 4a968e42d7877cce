//go:build cgo && !luthier_nosymbols && luthier_allgrammars

package treesitter

import (
	"github.com/smacker/go-tree-sitter/csharp"
	"github.com/smacker/go-tree-sitter/php"
	"github.com/smacker/go-tree-sitter/ruby"
)

func moreGrammars() []grammar {
	return []grammar{
		{"csharp", "csharp", ".cs", csharp.GetLanguage},
		{"php", "php", ".php", php.GetLanguage},
		{"ruby", "ruby", ".rb .rake", ruby.GetLanguage},
	}
}
