package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Instruction is a file of instructions for agents found in a workspace, such as AGENTS.md
// (https://agents.md).
type Instruction struct {
	Path string // slash-separated, relative to the workspace
	Text string
}

// maxInstruction is the number of bytes of a file that are used.
const maxInstruction = 64 << 10

// InstructionFile is the file name that is looked for by default.
const InstructionFile = "AGENTS.md"

// FindInstructions returns the instruction files that apply to the workspace-relative folder dir:
// those in the workspace's root, in dir, and in every folder between, from the root down, so that
// the nearest comes last and takes precedence. In each folder the first existing name of names is
// used; without names it is [InstructionFile]. Links that leave the workspace are not followed.
func FindInstructions(workspace, dir string, names ...string) ([]Instruction, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, fmt.Errorf("agent: find instructions: %w", err)
	}
	defer root.Close()
	if len(names) == 0 {
		names = []string{InstructionFile}
	}
	dir = cleanPath(dir)
	if path.IsAbs(dir) || leaves(dir) {
		return nil, fmt.Errorf("agent: find instructions: %s is outside the workspace", dir)
	}
	var found []Instruction
	for _, d := range lineage(dir) {
		in, ok, err := readInstruction(root, d, names)
		if err != nil {
			return found, fmt.Errorf("agent: find instructions: %w", err)
		}
		if ok {
			found = append(found, in)
		}
	}
	return found, nil
}

// lineage returns the folder with all folders above it: ".", "a", "a/b" for "a/b".
func lineage(dir string) []string {
	dirs := []string{"."}
	if dir == "." {
		return dirs
	}
	for i := 0; i < len(dir); i++ {
		if dir[i] == '/' {
			dirs = append(dirs, dir[:i])
		}
	}
	return append(dirs, dir)
}

func readInstruction(root *os.Root, dir string, names []string) (Instruction, bool, error) {
	for _, name := range names {
		p := path.Join(dir, name)
		st, err := root.Stat(p)
		if err != nil || !st.Mode().IsRegular() {
			continue // missing, a link that leaves the workspace, or not a file
		}
		f, err := root.Open(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Instruction{}, false, err
		}
		data, err := io.ReadAll(io.LimitReader(f, maxInstruction+1))
		f.Close()
		if err != nil {
			return Instruction{}, false, err
		}
		cut := ""
		if len(data) > maxInstruction {
			data, cut = data[:maxInstruction], fmt.Sprintf("\n[… %s goes on; only its first %d KiB are shown]", p, maxInstruction>>10)
			for i := 0; i < utf8.UTFMax && len(data) > 0 && !utf8.Valid(data[len(data)-i-1:]); i++ {
				if utf8.RuneStart(data[len(data)-i-1]) {
					data = data[:len(data)-i-1] // cut half a character
					break
				}
			}
		}
		text := strings.ToValidUTF8(strings.TrimSpace(string(data)), "\uFFFD") + cut
		return Instruction{Path: p, Text: text}, text != "", nil
	}
	return Instruction{}, false, nil
}

// FormatInstructions returns the files as a section for a system prompt, or "" for none.
func FormatInstructions(ins []Instruction) string {
	var b strings.Builder
	for _, in := range ins {
		if b.Len() == 0 {
			b.WriteString(promptText(instructionsPrompt) + "\n")
		}
		fmt.Fprintf(&b, "\n<instructions file=%q>\n%s\n</instructions>\n", in.Path, in.Text)
	}
	return b.String()
}

// NestedInstructions returns middleware that shows the model the instruction files of sub-folders:
// when a tool call first touches a path below them, they are appended to that call's result. The
// root's own file belongs in the system prompt.
func NestedInstructions(workspace string, names ...string) Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, op *Op) error {
			err := next(ctx, op)
			if err != nil || op.Result == nil || op.Result.IsError {
				return err
			}
			for _, in := range nestedFor(workspace, op.Effects, names) {
				if op.Session.firstTime(in.Path) {
					res := *op.Result // the tool may return the same result to several calls
					res.Parts = append(res.Parts[:len(res.Parts):len(res.Parts)], Text{Text: "\n" + FormatInstructions([]Instruction{in})})
					op.Result = &res
				}
			}
			return nil
		}
	}
}

// nestedFor returns the instructions below the root that apply to the paths a call touched.
func nestedFor(workspace string, e Effects, names []string) []Instruction {
	var out []Instruction
	for _, p := range append(append([]string(nil), e.Reads...), e.Writes...) {
		if rel, err := filepath.Rel(workspace, p); err == nil && filepath.IsAbs(p) {
			p = filepath.ToSlash(rel)
		}
		if hasScheme(p) || !PathUnder(p, ".") || cleanPath(p) == "." {
			continue
		}
		dir := cleanPath(p)
		if st, err := os.Lstat(path.Join(workspace, dir)); err != nil || !st.IsDir() {
			dir = path.Dir(dir)
		}
		if dir == "." {
			continue
		}
		ins, err := FindInstructions(workspace, dir, names...)
		if err != nil {
			continue
		}
		for _, in := range ins {
			if path.Dir(in.Path) != "." {
				out = append(out, in)
			}
		}
	}
	return out
}

// firstTime reports whether key is new to the session since it was opened.
func (s *Session) firstTime(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	old := s.seen[key]
	s.seen[key] = true
	return !old
}
