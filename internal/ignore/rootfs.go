package ignore

import (
	"os"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

// NewRoot returns the rules found only in a tree: its .gitignore files, and .git/info/exclude at
// its top. Links out of the tree are not followed.
func NewRoot(root *os.Root) *Matcher { return NewFS(regular.FS(root, maxRuleFile)) }
