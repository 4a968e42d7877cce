package compaction

import (
	"encoding/json"
	"path"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/artifact"
)

// kind is the purpose of a tool call. It decides what may be done to the call's result.
type kind uint8

const (
	kindOther   kind = iota // unknown
	kindCommand             // runs something: builds, tests, scripts
	kindRead                // shows exact lines of a file
	kindDiff                // shows exact changes
	kindEdit                // changes files
	kindSearch              // finds lines
	kindList                // names files
	kindRecall              // reads an artifact back
	kindPlan                // keeps a todo list or a plan
)

// exact reports whether the result holds lines that an edit may need byte for byte.
func (k kind) exact() bool { return k == kindRead || k == kindDiff || k == kindEdit || k == kindRecall }

// action describes a call, as derived from its name and arguments.
type action struct {
	kind        kind
	tool        string
	command     string   // the command line, for tools that run one
	path        string   // the file that is read, the first file that is changed, or the place that is searched
	writes      []string // files that are changed
	first, last int      // lines that are read; 0 if unknown or if the whole file is read
}

// title describes the call on one short line, such as `shell "go test ./..."`.
func (a *action) title() string { return a.short(100) }

// short returns the title with at most n bytes of a command line.
func (a *action) short(n int) string {
	switch {
	case a.command != "":
		return a.tool + " " + strconv.Quote(firstWords(a.command, n))
	case a.path != "" && a.first > 0:
		return a.tool + " " + a.path + " lines " + a.span()
	case a.path != "":
		return a.tool + " " + a.path
	}
	return a.tool
}

func (a *action) span() string {
	if a.last == 0 {
		return strconv.Itoa(a.first) + "-"
	}
	return strconv.Itoa(a.first) + "-" + strconv.Itoa(a.last)
}

// key returns a string that is equal for two calls if the later one's result makes the earlier
// one's out of date. It returns "" for calls that replace no other.
func (a *action) key() string {
	switch a.kind {
	case kindCommand, kindList, kindSearch, kindDiff:
		if a.command != "" {
			return a.tool + "\x00" + strings.Join(strings.Fields(a.command), " ")
		}
	case kindRead:
		return "read\x00" + a.path + "\x00" + a.span()
	}
	return ""
}

// callArgs holds the arguments that matter here, under the names that tools of various makers use.
type callArgs struct {
	Command string `json:"command"`
	Cmd     string `json:"cmd"`
	Script  string `json:"script"`
	Code    string `json:"code"`

	Path     string `json:"path"`
	FilePath string `json:"file_path"`
	File     string `json:"file"`
	Filename string `json:"filename"`

	Offset    int   `json:"offset"`
	Limit     int   `json:"limit"`
	StartLine int   `json:"start_line"`
	EndLine   int   `json:"end_line"`
	Line      int   `json:"line_number"`
	ViewRange []int `json:"view_range"`

	Pattern string `json:"pattern"`
	Query   string `json:"query"`
	Term    string `json:"search_term"`
	Op      string `json:"op"`
	Patch   string `json:"patch"`
	Framewk string `json:"framework"`
	Filter  string `json:"filter"`
}

// actionOf works out what a call does.
func actionOf(c agent.ToolCall) action {
	var in callArgs
	decodeArgs(c.Args, &in)
	a := action{tool: c.Name, path: cleanPath(firstOf(in.Path, in.FilePath, in.File, in.Filename))}
	line := firstOf(in.Command, in.Cmd, in.Script, in.Code)
	name := strings.ToLower(c.Name)
	switch {
	case line != "" && a.path != "" && isEditorVerb(line): // an editor of several verbs: view, create, str_replace, ...
		name = line
	case line != "":
		a.command = line
		a.shell(line)
		return a
	}
	a.kind = kindOfTool(name)
	switch a.kind {
	case kindRead:
		a.lines(&in)
	case kindEdit:
		a.edited(&in)
	case kindSearch:
		a.command = strings.TrimSpace(firstOf(in.Pattern, in.Query, in.Term) + " " + a.path)
	case kindCommand, kindDiff:
		a.command = strings.Join(strings.Fields(in.Op+" "+in.Framewk+" "+in.Filter+" "+a.path), " ")
		if name == "git" && (in.Op == "diff" || in.Op == "show" || in.Op == "blame") {
			a.kind = kindDiff
		}
	}
	return a
}

// decodeArgs decodes the arguments that fit: a member of an unexpected type is skipped.
func decodeArgs(raw json.RawMessage, in *callArgs) {
	if json.Unmarshal(raw, in) == nil {
		return
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return
	}
	for name, value := range members {
		one, err := json.Marshal(map[string]json.RawMessage{name: value})
		if err == nil {
			_ = json.Unmarshal(one, in) // what does not fit stays empty
		}
	}
}

func (a *action) lines(in *callArgs) {
	switch {
	case len(in.ViewRange) == 2:
		a.first, a.last = in.ViewRange[0], max(in.ViewRange[1], 0)
	case in.StartLine > 0:
		a.first, a.last = in.StartLine, in.EndLine
	case in.Offset > 0 || in.Limit > 0:
		a.first = max(in.Offset, 1)
		if in.Limit > 0 {
			a.last = a.first + in.Limit - 1
		}
	case in.Line > 0:
		a.first = in.Line
	}
}

func (a *action) edited(in *callArgs) {
	if a.path != "" {
		a.writes = []string{a.path}
	}
	for line := range strings.Lines(in.Patch) {
		for _, mark := range []string{"*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ b/"} {
			if name, ok := strings.CutPrefix(line, mark); ok && len(a.writes) < 64 {
				a.writes = append(a.writes, cleanPath(strings.TrimSpace(name)))
			}
		}
	}
	if a.path == "" && len(a.writes) > 0 {
		a.path = a.writes[0]
	}
}

// kindOfTool guesses the kind from a tool's name. Names consist of words: "read_file", "fileRead"
// and "view" all read.
func kindOfTool(name string) kind {
	if name == artifact.ReadTool {
		return kindRecall
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	for _, g := range toolKinds {
		for _, key := range g.keys {
			for _, w := range words {
				if w == key || len(key) >= 4 && (strings.HasPrefix(w, key) || strings.HasSuffix(w, key)) {
					return g.kind
				}
			}
		}
	}
	return kindOther
}

// toolKinds is searched in order: "search_replace" edits, "list_search" searches.
var toolKinds = []struct {
	kind kind
	keys []string
}{
	{kindEdit, []string{"edit", "write", "replace", "patch", "insert", "create", "delete", "rename", "undo"}},
	{kindPlan, []string{"todo", "todos", "plan", "think", "memory"}},
	{kindCommand, []string{"shell", "bash", "exec", "run", "terminal", "command", "test", "tests", "lint", "build", "python", "git"}},
	{kindSearch, []string{"search", "grep", "find", "symbol", "references", "definition"}},
	{kindRead, []string{"read", "view", "open", "cat", "goto", "scroll"}},
	{kindList, []string{"list", "glob", "tree", "ls", "map"}},
}

func isEditorVerb(s string) bool {
	switch s {
	case "view", "create", "str_replace", "insert", "undo_edit", "delete":
		return true
	}
	return false
}

func firstOf(ss ...string) string {
	for _, s := range ss {
		if s != "" {
			return s
		}
	}
	return ""
}

func cleanPath(p string) string {
	if p == "" {
		return ""
	}
	return strings.TrimPrefix(path.Clean(strings.ReplaceAll(p, "\\", "/")), "./")
}

// firstWords returns the beginning of s on one line: at most n bytes, and a mark if there is more.
func firstWords(s string, n int) string {
	s = strings.TrimSpace(s)
	if line, rest, more := strings.Cut(s, "\n"); more && strings.TrimSpace(rest) != "" {
		return cutAt(strings.TrimSpace(line), n) + " …"
	} else if more {
		s = strings.TrimSpace(line)
	}
	return cutMark(s, n)
}

// cutMark is cutAt followed by a mark if something was cut.
func cutMark(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return cutAt(s, n) + "…"
}

// cutAt returns the first n bytes of s, or slightly fewer so as to keep characters whole.
func cutAt(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}
