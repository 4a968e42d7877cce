//go:build cgo && !luthier_nosymbols

package treesitter

import "context"

// noContext can never be cancelled, so the binding starts no goroutine for it. The time limit is
// set in the parser itself.
var noContext = context.Background()

// maxParsed is the size in bytes of the largest file that is parsed.
const maxParsed = 1 << 20

// maxNesting is the maximum depth of open brackets in a file that is parsed. The C code keeps its
// stacks on the heap, but its error recovery takes longer the deeper they are.
const maxNesting = 400

// harmless reports whether a file looks like hand-written source: not nested too deeply, and
// without NUL.
func harmless(src []byte) bool {
	depth := 0
	for _, c := range src {
		switch c {
		case '(', '[', '{':
			if depth++; depth > maxNesting {
				return false
			}
		case ')', ']', '}':
			depth = max(depth-1, 0)
		case 0:
			return false
		}
	}
	return true
}
