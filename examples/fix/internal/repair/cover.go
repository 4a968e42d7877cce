package repair

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/tools/cover"
)

// Block is a basic block in the sense of the cover tool. Lines and columns count from 1; the end is
// after the last character.
type Block struct {
	StartLine, StartCol int
	EndLine, EndCol     int
	Count               int // number of times that it ran
}

// Profile is the coverage of one test, or of several together: the blocks of each file. A file is
// named by its import path and base name, "example.com/mod/pkg/file.go".
type Profile map[string][]Block

// ParseProfile parses a profile written by go test -coverprofile.
func ParseProfile(data []byte) (Profile, error) {
	files, err := cover.ParseProfilesFromReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("repair: parse coverage: %w", err)
	}
	p := Profile{}
	for _, f := range files {
		blocks := make([]Block, len(f.Blocks))
		for i, b := range f.Blocks {
			blocks[i] = Block{b.StartLine, b.StartCol, b.EndLine, b.EndCol, b.Count}
		}
		p[f.FileName] = blocks
	}
	return p, nil
}

// blocks returns the blocks of a file, whose name may be any part of the path.
func (p Profile) blocks(file string) []Block {
	file = path.Clean(filepath.ToSlash(file))
	if b, ok := p[file]; ok {
		return b
	}
	var found []Block
	best := ""
	for name, b := range p {
		if path.Base(name) != path.Base(file) {
			continue
		}
		// If several files have that name, the one with the longest common path suffix is chosen.
		// In a tie it is the one with the shorter path: for a file at the root of a module, only
		// the file name is common to the two paths.
		if best == "" || cmp.Or(commonTail(best, file)-commonTail(name, file), strings.Count(name, "/")-strings.Count(best, "/"), strings.Compare(name, best)) < 0 {
			best, found = name, b
		}
	}
	return found
}

// commonTail counts the equal elements at the ends of two paths.
func commonTail(a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	n := 0
	for n < len(x) && n < len(y) && x[len(x)-1-n] == y[len(y)-1-n] {
		n++
	}
	return n
}

// lines reports for each line of a function whether it ran. It returns nil if no line ran.
func (p Profile) lines(f Function) []bool {
	var ran []bool
	for _, b := range p.blocks(f.File) {
		if b.Count == 0 || b.EndLine < f.Start || b.StartLine > f.End {
			continue
		}
		if ran == nil {
			ran = make([]bool, f.End-f.Start+1)
		}
		for l := max(b.StartLine, f.Start); l <= min(b.EndLine, f.End); l++ {
			ran[l-f.Start] = true
		}
	}
	return ran
}
