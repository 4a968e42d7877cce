package main

import (
	"fmt"
	"go/build"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// sources lists long files of the Go standard library.
var sources = []string{"net/http/server.go", "go/parser/parser.go", "database/sql/sql.go", "net/http/transport.go", "encoding/json/decode.go",
	"reflect/type.go", "text/template/exec.go", "go/types/expr.go"}

// readSource returns the lines of the i-th source.
func readSource(i int) ([]string, error) {
	path := filepath.Join(build.Default.GOROOT, "src", filepath.FromSlash(sources[i%len(sources)]))
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read source to work on: %w", err)
	}
	return strings.SplitAfter(string(data), "\n"), nil
}

// allSource returns all sources one after the other, repeated until there are n lines.
func allSource(n int) (string, error) {
	var b strings.Builder
	for i := 0; n > 0; i++ {
		lines, err := readSource(i)
		if err != nil {
			return "", err
		}
		b.WriteString(strings.Join(lines, ""))
		n -= len(lines)
	}
	return b.String(), nil
}

var word = regexp.MustCompile(`[A-Za-z_]\w*`)

// edited changes about percent % of the lines. Of five edits, three replace a word in a line, one
// inserts up to four lines, and one deletes up to four.
func edited(lines []string, percent int, rng *rand.Rand) string {
	var b strings.Builder
	for i := 0; i < len(lines); i++ {
		if rng.IntN(100) >= percent {
			b.WriteString(lines[i])
			continue
		}
		switch rng.IntN(5) {
		case 0:
			b.WriteString(lines[i])
			for k := range 1 + rng.IntN(4) {
				fmt.Fprintf(&b, "\tif err := s.check%d(ctx, %q); err != nil {\n\t\treturn fmt.Errorf(\"step %d: %%w\", err)\n\t}\n", rng.IntN(1000), fmt.Sprint("part", k), rng.IntN(100))
			}
		case 1:
			i += rng.IntN(4)
		default:
			b.WriteString(changeWord(lines[i], rng))
		}
	}
	return b.String()
}

func changeWord(line string, rng *rand.Rand) string {
	at := word.FindAllStringIndex(line, -1)
	if len(at) == 0 {
		return line + "// see above\n"
	}
	w := at[rng.IntN(len(at))]
	return line[:w[0]] + fmt.Sprintf("renamed%d", rng.IntN(1000)) + line[w[1]:]
}
