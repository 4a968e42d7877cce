package coding

import (
	"strings"

	"github.com/luthier-dev/luthier/internal/ansi"
)

// cleanText makes what a program printed fit to be shown: no terminal sequences, valid UTF-8.
func cleanText(b []byte) string {
	return strings.ToValidUTF8(ansi.Strip(string(b)), "\uFFFD")
}
