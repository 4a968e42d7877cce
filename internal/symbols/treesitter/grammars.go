//go:build cgo && !luthier_nosymbols

package treesitter

import (
	"embed"

	sitter "github.com/smacker/go-tree-sitter"
	"github.com/smacker/go-tree-sitter/c"
	"github.com/smacker/go-tree-sitter/cpp"
	"github.com/smacker/go-tree-sitter/java"
	"github.com/smacker/go-tree-sitter/javascript"
	"github.com/smacker/go-tree-sitter/python"
	"github.com/smacker/go-tree-sitter/rust"
	"github.com/smacker/go-tree-sitter/typescript/tsx"
	"github.com/smacker/go-tree-sitter/typescript/typescript"
)

//go:embed queries/*.scm
var queries embed.FS

// A grammar is a language, the query that finds its symbols, and its file extensions.
type grammar struct {
	name     string
	query    string // file in the queries folder, without .scm
	endings  string
	language func() *sitter.Language
}

func grammars() []grammar {
	return append([]grammar{
		{"python", "python", ".py .pyi .pyw", python.GetLanguage},
		{"javascript", "javascript", ".js .jsx .mjs .cjs", javascript.GetLanguage},
		{"typescript", "typescript", ".ts .mts .cts", typescript.GetLanguage},
		{"tsx", "typescript", ".tsx", tsx.GetLanguage},
		{"rust", "rust", ".rs", rust.GetLanguage},
		{"java", "java", ".java", java.GetLanguage},
		{"c", "c", ".c", c.GetLanguage},
		{"cpp", "cpp", ".h .cc .cpp .cxx .hh .hpp .hxx", cpp.GetLanguage},
	}, moreGrammars()...)
}
