package verify

import (
	"bytes"
	"strconv"
)

// A profileBlock is one line of a coverage profile: "path/file.go:3.20,5.2 1 0", columns in bytes.
type profileBlock struct {
	path          []byte // as in the profile
	file          string // without the directory
	start, column int
	end           int
	endColumn     []byte
	tail          []byte // statements and count
	ran           bool
}

// parseBlock parses a line of a profile; the result ok is false for the mode line and any other
// line that is not a block.
func parseBlock(line []byte) (b profileBlock, ok bool) {
	at := bytes.LastIndex(line, []byte(".go:"))
	if at < 0 {
		return b, false
	}
	b.path = line[:at+3]
	b.file = string(b.path[bytes.LastIndexByte(b.path, '/')+1:])
	start, rest, ok1 := bytes.Cut(line[at+4:], []byte("."))
	column, rest, ok2 := bytes.Cut(rest, []byte(","))
	end, rest, ok3 := bytes.Cut(rest, []byte("."))
	endColumn, rest, ok4 := bytes.Cut(rest, []byte(" "))
	var err1, err2, err3 error
	b.start, err1 = strconv.Atoi(string(start))
	b.column, err2 = strconv.Atoi(string(column))
	b.end, err3 = strconv.Atoi(string(end))
	b.endColumn, b.tail = endColumn, rest
	b.ran = !bytes.HasSuffix(rest, []byte(" 0"))
	return b, ok1 && ok2 && ok3 && ok4 && err1 == nil && err2 == nil && err3 == nil
}

// append writes the block as a line.
func (b profileBlock) append(out []byte) []byte {
	out = append(append(out, b.path...), ':')
	out = append(strconv.AppendInt(out, int64(b.start), 10), '.')
	out = append(strconv.AppendInt(out, int64(b.column), 10), ',')
	out = append(strconv.AppendInt(out, int64(b.end), 10), '.')
	out = append(append(out, b.endColumn...), ' ')
	return append(append(out, b.tail...), '\n')
}

// ranBlocks reports for every block of a profile whether it ran.
func ranBlocks(profile []byte) []bool {
	var ran []bool
	for line := range bytes.SplitSeq(profile, []byte("\n")) {
		if b, ok := parseBlock(line); ok {
			ran = append(ran, b.ran)
		}
	}
	return ran
}

// withRan returns the profile in which the blocks have run as given in ran.
func withRan(profile []byte, ran []bool) []byte {
	out := make([]byte, 0, len(profile))
	i := 0
	for line := range bytes.SplitSeq(profile, []byte("\n")) {
		if _, ok := parseBlock(line); ok {
			cut := bytes.LastIndexByte(line, ' ')
			out = append(out, line[:cut]...)
			if ran[i] {
				out = append(out, " 1\n"...)
			} else {
				out = append(out, " 0\n"...)
			}
			i++
		} else if len(line) > 0 {
			out = append(append(out, line...), '\n')
		}
	}
	return out
}

// merge returns the union of profiles: a block ran if it ran in one of them.
func merge(profiles ...[]byte) []byte {
	if len(profiles) == 1 {
		return profiles[0]
	}
	index := map[string]int{}
	var blocks [][]byte
	var ran []bool
	for _, p := range profiles {
		for line := range bytes.SplitSeq(p, []byte("\n")) {
			b, ok := parseBlock(line)
			if !ok {
				continue
			}
			cut := bytes.LastIndexByte(line, ' ')
			i, seen := index[string(line[:cut])]
			if !seen {
				i = len(blocks)
				index[string(line[:cut])] = i
				blocks, ran = append(blocks, line[:cut]), append(ran, false)
			}
			ran[i] = ran[i] || b.ran
		}
	}
	out := []byte("mode: set\n")
	for i, b := range blocks {
		out = append(out, b...)
		if ran[i] {
			out = append(out, " 1\n"...)
		} else {
			out = append(out, " 0\n"...)
		}
	}
	return out
}
