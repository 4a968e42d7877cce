package coding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/coding/internal/gitview"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// gitIn has the fields of gitview.Query.
type gitIn struct {
	Op        string `json:"op" jsonschema:"enum=status,enum=diff,enum=log,enum=blame,enum=show" jsonschema_description:"what to do"`
	Path      string `json:"path,omitempty" jsonschema_description:"file or directory to keep to, relative to the workspace; required for blame"`
	Rev       string `json:"rev,omitempty" jsonschema_description:"commit, branch or tag; for log and diff also a range A..B or A...B; for show also REV:PATH"`
	Staged    bool   `json:"staged,omitempty" jsonschema_description:"diff: the index against the last commit"`
	Stat      bool   `json:"stat,omitempty" jsonschema_description:"diff and show: only the summary of files"`
	Context   int    `json:"context,omitempty" jsonschema:"minimum=0,maximum=100" jsonschema_description:"diff and show: unchanged lines around a change; default 3"`
	Limit     int    `json:"limit,omitempty" jsonschema:"minimum=0" jsonschema_description:"log: how many commits; default 20"`
	Grep      string `json:"grep,omitempty" jsonschema_description:"log: only commits whose message matches this regular expression"`
	Ignored   bool   `json:"ignored,omitempty" jsonschema_description:"status: list ignored files too"`
	StartLine int    `json:"start_line,omitempty" jsonschema:"minimum=0" jsonschema_description:"blame: first line"`
	EndLine   int    `json:"end_line,omitempty" jsonschema:"minimum=0" jsonschema_description:"blame: last line"`
}

// gitTimeout limits one call: walking the history of some repositories takes hours.
const gitTimeout = 90 * time.Second

func (w *Workspace) gitTool() (agent.Tool, error) {
	return newTool("git", reading(w, opened.git), toolParts[gitIn]{
		any:     agent.ReadOnly("."),
		effects: func(gitIn) agent.Effects { return agent.ReadOnly(".") },
		describe: titled(func(in gitIn) string {
			return strings.TrimSpace("git " + in.Op + " " + in.Rev + " " + in.Path)
		}),
	})
}

var errGitSlow = errors.New("it took too long for this tool; narrow it with path, rev or limit, or use git with shell")

func (w opened) git(ctx context.Context, in gitIn) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, gitTimeout, errGitSlow)
	defer cancel()
	g, err := w.openRepo(ctx)
	if err != nil {
		return "", err
	}
	return g.Answer(ctx, gitview.Query(in))
}

// openRepo opens the repository that contains the workspace. Its objects can be read until ctx
// ends.
func (w opened) openRepo(ctx context.Context) (*gitview.Repo, error) {
	dir := ""
	if w.onHost {
		dir = w.name
	}
	return gitview.Open(ctx, gitview.Config{
		Dir: dir, Root: w.root, Files: gitFiles{w}, Resolve: w.gitPath, Rules: w.ignored, Temporary: isTempName,
		Attributes:  func() string { return w.small(".gitattributes") },
		OutputBytes: w.cfg.Proc.OutputBytes, ListEntries: w.cfg.Limits.ListEntries,
	})
}

// gitPath resolves a path of a call lexically, because the file may exist only in a commit.
func (w *Workspace) gitPath(p string) (string, error) {
	rel, err := w.relative(p)
	if err != nil {
		return "", fmt.Errorf("%s: %w", show.Path(p), err)
	}
	rel = path.Clean(rel)
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return "", fmt.Errorf("%s: %w", show.Path(p), errOutside)
	}
	return rel, nil
}

// gitFiles reads the work tree with the same precautions as the file tools.
type gitFiles struct{ w opened }

func (f gitFiles) Open(rel string, info fs.FileInfo) (*os.File, error) {
	file, _, err := f.w.openFile(target{rel, info})
	return file, err
}

func (f gitFiles) ReadAll(rel string, info fs.FileInfo, max int) ([]byte, error) {
	data, _, err := f.w.readAll(target{rel, info}, max)
	return data, err
}

func (f gitFiles) ReadDir(rel string) ([]fs.DirEntry, error) { return f.w.readDir(rel) }

// changedFiles lists the files of the workspace that differ from the last commit, except deleted
// ones.
func (w opened) changedFiles(ctx context.Context) ([]string, error) {
	g, err := w.openRepo(ctx)
	if err != nil {
		return nil, err
	}
	return g.Changed(ctx)
}
