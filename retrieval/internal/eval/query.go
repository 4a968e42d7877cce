package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Query is a search in the tree of a commit, with the correct answers.
type Query struct {
	ID     string `json:"id"`
	Repo   string `json:"repo"`
	Mirror string `json:"mirror"` // the name of the repository's folder among the mirrors
	Lang   string `json:"lang"`
	// Commit identifies the tree to search; nothing newer may be used.
	Commit string `json:"commit"`
	Date   string `json:"date"`
	// Kind is issue, commit or question.
	Kind     string `json:"kind"`
	Category string `json:"category"`
	Source   string `json:"source"`
	Title    string `json:"title"`
	Body     string `json:"body"`
	// Text is the search text: title and body.
	Text string `json:"query"`
	// Files are the correct answers. Secondary files are useful too, but do not count.
	Files     []string `json:"files"`
	Secondary []string `json:"secondary"`
	// Hunks are the lines that the fix changed, with the line numbers of Commit.
	Hunks []Hunk `json:"hunks"`
	// Leak grades how much of the answer the query contains: none, stem (a file's name without its
	// extension), module or path.
	Leak string `json:"leak"`
	// Root is the folder of the files that count; files outside it are removed from a ranking
	// before it is judged.
	Root string `json:"root"`
}

// Hunk is a change in a file.
type Hunk struct {
	File   string  `json:"file"`
	Ranges []Range `json:"ranges"`
}

// Range is a run of lines from Start on, where the first line is 1. A Count of zero means that
// something was inserted after Start.
type Range struct {
	Start, Count int
	Header       string // the preceding context line that git shows in the hunk header
}

// UnmarshalJSON reads [start, count, header].
func (r *Range) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&r.Start, &r.Count, &r.Header})
}

// MarshalJSON writes the form that UnmarshalJSON reads.
func (r Range) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{r.Start, r.Count, r.Header})
}

// InScope reports whether a path counts for the query.
func (q *Query) InScope(path string) bool {
	return q.Root == "" || strings.HasPrefix(path, strings.TrimSuffix(q.Root, "/")+"/")
}

// Load reads the queries in the files that match a pattern of [filepath.Glob], one JSON object per
// line.
func Load(pattern string) ([]Query, error) {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("eval: load %s: %w", pattern, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("eval: load %s: no such file", pattern)
	}
	slices.Sort(names)
	var out []Query
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("eval: load: %w", err)
		}
		if out, err = appendQueries(out, b); err != nil {
			return nil, fmt.Errorf("eval: load %s: %w", name, err)
		}
	}
	return out, nil
}

func appendQueries(out []Query, b []byte) ([]Query, error) {
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, len(b)+1)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var q Query
		err := json.Unmarshal(lines.Bytes(), &q)
		if err == nil {
			err = q.check()
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out = append(out, q)
	}
	return out, lines.Err()
}

func (q *Query) check() error {
	switch {
	case q.ID == "" || q.Commit == "" || q.Mirror == "":
		return errors.New("id, mirror or commit is missing")
	case !isHash(q.Commit):
		return fmt.Errorf("commit %q is no hash", q.Commit)
	case !filepath.IsLocal(q.Mirror) || strings.ContainsAny(q.Mirror, `/\`):
		return fmt.Errorf("mirror %q is no name of a folder", q.Mirror)
	case strings.TrimSpace(q.Text) == "":
		return errors.New("query is missing")
	case len(q.Files) == 0:
		return errors.New("files are missing")
	}
	for _, f := range q.Files {
		if !q.InScope(f) {
			return fmt.Errorf("file %s is outside root %s", f, q.Root)
		}
	}
	return nil
}

func isHash(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}
