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

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
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

// Instructions finds the instruction files of a workspace.
type Instructions struct {
	Workspace string   // the workspace's path as tools see it
	Tree      ViewTree // where it is; nil means the directory Workspace
	Names     []string // in each folder the first existing one is used; none means InstructionFile
	// Decode returns the text of a file, or false if it is not text. Nil reads UTF-8 and UTF-16;
	// coding.DecodeText also reads the older encodings that the tools know.
	Decode func(data []byte) (string, bool)
}

// ViewTree is a workspace whose files this process can read, wherever it is, such as the tree of a
// sandbox.
type ViewTree interface {
	// View lets do read the tree. The root is valid until do returns.
	View(ctx context.Context, do func(root *os.Root) error) error
}

// FindInstructions returns the instruction files that apply to the workspace-relative folder dir:
// those in the workspace's root, in dir, and in every folder between, from the root down, so that
// the nearest comes last and takes precedence. In each folder the first existing name of names is
// used; without names it is [InstructionFile]. Links that leave the workspace are not followed.
// Files are UTF-8 or UTF-16; see [Instructions] for others.
func FindInstructions(workspace, dir string, names ...string) ([]Instruction, error) {
	return Instructions{Workspace: workspace, Names: names}.Find(dir)
}

// Find returns the files that apply to the workspace-relative folder dir, as [FindInstructions]
// does.
func (i Instructions) Find(dir string) ([]Instruction, error) {
	dir = cleanPath(dir)
	if path.IsAbs(dir) || leaves(dir) {
		return nil, fmt.Errorf("agent: find instructions: %s is outside the workspace", dir)
	}
	var found []Instruction
	err := i.view(context.Background(), func(root *os.Root) (err error) {
		found, err = i.in(root, dir)
		return err
	})
	if err != nil {
		return found, fmt.Errorf("agent: find instructions: %w", err)
	}
	return found, nil
}

// view calls do with the workspace.
func (i Instructions) view(ctx context.Context, do func(*os.Root) error) error {
	if i.Tree != nil {
		return i.Tree.View(ctx, do)
	}
	root, err := regular.OpenRoot(i.Workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	return do(root)
}

// in returns the files that apply to a folder of the tree.
func (i Instructions) in(root *os.Root, dir string) ([]Instruction, error) {
	if len(i.Names) == 0 {
		i.Names = []string{InstructionFile}
	}
	if i.Decode == nil {
		i.Decode = decodeInstruction
	}
	var found []Instruction
	for _, d := range lineage(dir) {
		in, ok, err := i.read(root, d)
		if err != nil {
			return found, err
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

func (i Instructions) read(root *os.Root, dir string) (Instruction, bool, error) {
	for _, name := range i.Names {
		p := path.Join(dir, name)
		st, err := root.Stat(p)
		if err != nil || !st.Mode().IsRegular() {
			continue // missing, a link that leaves the workspace, or not a file
		}
		f, err := regular.OpenIn(root, p, os.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, regular.ErrNotRegular) {
			continue // it was removed or exchanged a moment ago
		}
		if err != nil {
			return Instruction{}, false, err
		}
		data, err := io.ReadAll(io.LimitReader(f, maxInstruction+1))
		f.Close()
		if err != nil {
			return Instruction{}, false, err
		}
		text := i.text(p, data)
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
	return Instructions{Workspace: workspace, Names: names}.Nested()
}

// Nested returns the middleware that [NestedInstructions] describes.
func (i Instructions) Nested() Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, op *Op) error {
			err := next(ctx, op)
			if err != nil || op.Partial || op.Result == nil || op.Result.IsError {
				return err
			}
			for _, in := range i.nestedFor(ctx, op.Effects) {
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
func (i Instructions) nestedFor(ctx context.Context, e Effects) []Instruction {
	var paths []string
	for _, p := range append(append([]string(nil), e.Reads...), e.Writes...) {
		if rel, err := filepath.Rel(i.Workspace, p); err == nil && filepath.IsAbs(p) {
			p = filepath.ToSlash(rel)
		}
		if !hasScheme(p) && PathUnder(p, ".") && cleanPath(p) != "." {
			paths = append(paths, cleanPath(p))
		}
	}
	if len(paths) == 0 {
		return nil
	}
	var out []Instruction
	_ = i.view(ctx, func(root *os.Root) error { // a workspace that is gone has no instructions
		for _, dir := range paths {
			if st, err := root.Lstat(dir); err != nil || !st.IsDir() {
				dir = path.Dir(dir)
			}
			if dir == "." {
				continue
			}
			ins, err := i.in(root, dir)
			if err != nil {
				continue
			}
			for _, in := range ins {
				if path.Dir(in.Path) != "." {
					out = append(out, in)
				}
			}
		}
		return nil
	})
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
