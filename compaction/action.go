package compaction

import (
	"encoding/json"
	"path"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/artifact"
)

// kind is what a tool call is for. It decides what may be done to its result.
type kind uint8

const (
	kindOther   kind = iota // not known
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

// action is what a call does, as far as its name and arguments tell.
type action struct {
	kind        kind
	tool        string
	command     string   // the command line, for tools that run one
	path        string   // the file that is read, the first one that is changed, or where is searched
	writes      []string // files that are changed
	first, last int      // lines that are read; 0 where it is not known or the whole is read
}

// title is the call on one short line, such as `shell "go test ./..."`.
func (a *action) title() string { return a.short(100) }

// short is the title with at most so many bytes of a command line.
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

// key is equal for two calls where the later one's result makes the earlier one's out of date; ""
// where none does.
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

// callArgs are the names under which tools of all makes take what matters here.
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

// actionOf says what a call does.
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

// decodeArgs reads arguments as far as they fit: a member of another type than expected is left
// out, the rest counts.
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

// kindOfTool guesses from a tool's name. Names are made of words: "read_file", "fileRead" and
// "view" all read.
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

// toolKinds are looked through in order: "search_replace" edits, "list_search" searches.
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

// firstWords is the beginning of s on one line, at most n bytes and a mark that there is more.
func firstWords(s string, n int) string {
	s = strings.TrimSpace(s)
	if line, rest, more := strings.Cut(s, "\n"); more && strings.TrimSpace(rest) != "" {
		return cutAt(strings.TrimSpace(line), n) + " …"
	} else if more {
		s = strings.TrimSpace(line)
	}
	return cutMark(s, n)
}

// cutMark is cutAt with a mark where something was cut.
func cutMark(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return cutAt(s, n) + "…"
}

// cutAt is the first n bytes of s, or somewhat less, whole characters.
func cutAt(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}
