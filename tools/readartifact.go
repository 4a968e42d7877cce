package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/artifact"
)

// ReadArtifactName is the name of the tool returned by [NewReadArtifact]. Results that were cut
// mention it.
const ReadArtifactName = artifact.ReadTool

// The limits of one read.
const (
	readMaxLines = 400
	readMaxBytes = 32 << 10
)

//go:embed prompts/read_artifact.md
var readArtifactPrompt string

type readArtifactIn struct {
	Handle  string `json:"handle" jsonschema:"description=the handle that a tool result named, such as artifact-0123456789abcdef01234567"`
	Start   int    `json:"start_line,omitempty" jsonschema:"minimum=1,description=first line to read, counted from 1"`
	Lines   int    `json:"lines,omitempty" jsonschema:"minimum=1,maximum=400,description=how many lines to read; 200 unless given"`
	Offset  int64  `json:"offset,omitempty" jsonschema:"minimum=0,description=first byte to read, instead of lines; for texts with very long lines"`
	Bytes   int    `json:"bytes,omitempty" jsonschema:"minimum=1,maximum=32768,description=how many bytes to read from offset"`
	Pattern string `json:"pattern,omitempty" jsonschema:"description=show only lines that match this regular expression (RE2), from start_line on"`
	Context int    `json:"context,omitempty" jsonschema:"minimum=0,maximum=10,description=lines to show around each match"`
}

// NewReadArtifact returns the read_artifact tool. It reads a text that was too long for a result
// back from store, by lines, by bytes, or by the lines that match a regular expression, at most 400
// lines or 32 KiB at a time.
func NewReadArtifact(store agent.ArtifactStore) (agent.Tool, error) {
	if store == nil {
		return nil, errors.New("tools: new read_artifact: the store is nil")
	}
	read := func(ctx context.Context, in readArtifactIn) (string, error) {
		data, err := store.Get(ctx, in.Handle)
		if err != nil {
			return "", err
		}
		if in.Offset > 0 || in.Bytes > 0 {
			return readBytes(data, in)
		}
		return readLines(string(data), in)
	}
	return New(ReadArtifactName, strings.TrimSpace(readArtifactPrompt), read,
		WithEffects(agent.ReadOnly("artifact:")),
		WithCallEffects(func(in readArtifactIn) agent.Effects { return agent.ReadOnly("artifact:" + in.Handle) }),
		WithMaxOutput(-1),
		WithCheck(func(in readArtifactIn) error {
			if (in.Offset > 0 || in.Bytes > 0) && (in.Start > 0 || in.Lines > 0 || in.Pattern != "") {
				return errors.New("give start_line, lines and pattern, or offset and bytes, not both")
			}
			return nil
		}))
}

func readBytes(data []byte, in readArtifactIn) (string, error) {
	if in.Offset >= int64(len(data)) {
		return "", fmt.Errorf("offset %d is past the end; the text has %d bytes", in.Offset, len(data))
	}
	n := in.Bytes
	if n == 0 {
		n = readMaxBytes
	}
	end := min(int64(len(data)), in.Offset+int64(n))
	return fmt.Sprintf("%s\n[bytes %d to %d of %d]", data[in.Offset:end], in.Offset, end, len(data)), nil
}

// readLines reads a range of lines, or of matches, with line numbers.
func readLines(text string, in readArtifactIn) (string, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	start := max(in.Start, 1)
	if start > len(lines) {
		return "", fmt.Errorf("start_line %d is past the end; the text has %d lines", start, len(lines))
	}
	limit := in.Lines
	if limit == 0 {
		limit = readMaxLines / 2
	}
	p := &linePrinter{lines: lines, left: limit}
	if in.Pattern == "" {
		p.next = start
		for p.next <= len(lines) && p.print(p.next) {
		}
		return p.end(fmt.Sprintf("%d lines in all", len(lines))), nil
	}
	re, err := regexp.Compile(in.Pattern)
	if err != nil {
		return "", fmt.Errorf("pattern: %w; write a regular expression in RE2 syntax", err)
	}
	p.next = start
	matches := 0
	for i := start; i <= len(lines); i++ {
		if !re.MatchString(lines[i-1]) {
			continue
		}
		matches++
		p.around(i, in.Context)
	}
	if matches == 0 {
		return fmt.Sprintf("[no line from %d on matches; %d lines in all]", start, len(lines)), nil
	}
	return p.end(fmt.Sprintf("%d matching lines of %d", matches, len(lines))), nil
}

// linePrinter writes numbered lines within the limits of one read.
type linePrinter struct {
	lines []string
	b     strings.Builder
	next  int // the first line not written yet
	left  int // lines that may still be written
	cut   int // the line at which the limit was reached, or 0
}

// print writes line i and reports whether there was room.
func (p *linePrinter) print(i int) bool {
	line := p.lines[i-1]
	if p.left == 0 || p.b.Len()+len(line) > readMaxBytes {
		if p.cut == 0 {
			p.cut = i
		}
		if p.left > 0 && p.b.Len() == 0 { // a single line that exceeds the limit
			fmt.Fprintf(&p.b, "%d\t%s…\n", i, line[:boundary(line, readMaxBytes)])
			p.next = i + 1
		}
		return false
	}
	fmt.Fprintf(&p.b, "%d\t%s\n", i, line)
	p.left--
	p.next = i + 1
	return true
}

// around writes line i with n lines before and after it, each line once.
func (p *linePrinter) around(i, n int) {
	from := max(p.next, i-n)
	if from > p.next && p.b.Len() > 0 {
		p.b.WriteString("--\n")
	}
	for j := from; j <= min(len(p.lines), i+n); j++ {
		if !p.print(j) {
			return
		}
	}
}

// end returns what was written, and where to continue.
func (p *linePrinter) end(summary string) string {
	if p.cut > 0 {
		summary += fmt.Sprintf("; go on with start_line %d", p.cut)
		if p.cut == p.next-1 {
			summary += ", or read the long line with offset and bytes"
		}
	}
	return p.b.String() + "[" + summary + "]"
}
