package coding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

type grepIn struct {
	Pattern    string `json:"pattern" jsonschema_description:"regular expression (RE2)"`
	Path       string `json:"path,omitempty" jsonschema_description:"file or directory to search; default is the workspace"`
	Glob       string `json:"glob,omitempty" jsonschema_description:"only files whose path matches, such as *.go or src/**/*.ts"`
	Type       string `json:"type,omitempty" jsonschema_description:"only files of a language, such as go, py or ts"`
	Mode       string `json:"mode,omitempty" jsonschema:"enum=lines,enum=files,enum=count" jsonschema_description:"what to show; default is lines"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema_description:"let upper and lower case match each other"`
	Literal    bool   `json:"literal,omitempty" jsonschema_description:"the pattern is a plain text"`
	Multiline  bool   `json:"multiline,omitempty" jsonschema_description:"let a match reach over several lines"`
	Context    int    `json:"context,omitempty" jsonschema:"minimum=0" jsonschema_description:"lines to show before and after each match"`
	Before     int    `json:"before,omitempty" jsonschema:"minimum=0" jsonschema_description:"lines to show before each match"`
	After      int    `json:"after,omitempty" jsonschema:"minimum=0" jsonschema_description:"lines to show after each match"`
	Ignored    bool   `json:"ignored,omitempty" jsonschema_description:"also search files that .gitignore leaves out"`
	Limit      int    `json:"limit,omitempty" jsonschema:"minimum=0" jsonschema_description:"number of lines (or files) to show"`
}

func (w *Workspace) grepTool() (agent.Tool, error) {
	return newTool("grep", reading(w, opened.grep), toolParts[grepIn]{
		any:      agent.ReadOnly("."),
		effects:  func(in grepIn) agent.Effects { return effectsIn(w, orRoot(in.Path), opened.readEffects) },
		describe: titled(func(in grepIn) string { return fmt.Sprintf("grep %q in %s", in.Pattern, show.Path(orRoot(in.Path))) }),
	})
}

const maxContext = 50

func (w opened) grep(ctx context.Context, in grepIn) (string, error) {
	j, err := w.grepJob(in)
	if err != nil {
		return "", err
	}
	found := &grepResults{limit: w.limit(in.Limit), names: in.Mode == "files" || in.Mode == "count"}
	if err := w.runGrep(ctx, j, found); err != nil {
		return "", err
	}
	return w.grepText(in, j, found), nil
}

func (w opened) grepJob(in grepIn) (*grepJob, error) {
	if in.Pattern == "" {
		return nil, errors.New("the pattern is empty; give the text or regular expression to look for")
	}
	t, err := w.resolve(orRoot(in.Path))
	if err != nil {
		return nil, err
	}
	if t.info == nil {
		return nil, w.missing(t.rel)
	}
	if !t.info.IsDir() {
		if err := w.checkRegular(t); err != nil {
			return nil, err
		}
	}
	j := &grepJob{from: t, all: in.Ignored, keep: w.limit(in.Limit)}
	j.before, j.after = min(max(in.Before, in.Context), maxContext), min(max(in.After, in.Context), maxContext)
	if in.Mode == "files" || in.Mode == "count" {
		j.keep, j.before, j.after = 0, 0, 0
	}
	if j.names, err = newNameFilter(t.rel, w.globPattern(in.Glob, t.rel)); err != nil {
		return nil, err
	}
	if j.types, err = typeFilter(in.Type); err != nil {
		return nil, err
	}
	j.p, err = compileGrep(in.Pattern, in.Literal, in.IgnoreCase, in.Multiline)
	return j, err
}

// runGrep searches with ripgrep if that finds the same as the built-in search, and otherwise with
// the built-in search.
func (w opened) runGrep(ctx context.Context, j *grepJob, found *grepResults) error {
	if !j.from.info.IsDir() {
		g := grepper{w: w, ctx: ctx, j: j, found: found}
		defer g.close()
		g.file(j.from.rel)
		return ctx.Err()
	}
	if w.canRipgrep(j) {
		if err := w.grepRipgrep(ctx, j, found); !errors.Is(err, errNoRipgrep) {
			return err
		}
	}
	return w.grepGo(ctx, j, found)
}

// grepResults collects files in any order and keeps those that come first by path, up to a number
// of matching lines (or of files, if only names are requested). The rest is only counted.
type grepResults struct {
	limit int
	names bool

	mu       sync.Mutex
	files    []fileMatches
	kept     int // matching lines (or files) in files
	lines    int // total number of matching lines
	total    int // total number of files
	failed   int // files that could not be read
	oversize int
}

// reset forgets what was found, for another search.
func (g *grepResults) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.files, g.kept, g.lines, g.total, g.failed, g.oversize = nil, 0, 0, 0, 0, 0
}

func (g *grepResults) add(f fileMatches) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total++
	g.lines += f.count
	g.files = append(g.files, f)
	g.kept += g.weight(f)
	if g.kept > 4*g.limit+1000 {
		g.prune()
	}
}

func (g *grepResults) weight(f fileMatches) int {
	if g.names {
		return 1
	}
	return min(f.count, g.limit)
}

// prune drops the files beyond the result limit.
func (g *grepResults) prune() {
	slices.SortFunc(g.files, func(a, b fileMatches) int { return cmp.Compare(a.rel, b.rel) })
	sum := 0
	for i, f := range g.files {
		if sum >= g.limit {
			clear(g.files[i:])
			g.files = g.files[:i]
			break
		}
		sum += g.weight(f)
	}
	g.kept = sum
}

func (g *grepResults) unreadable() { g.mu.Lock(); g.failed++; g.mu.Unlock() }
func (g *grepResults) tooLarge()   { g.mu.Lock(); g.oversize++; g.mu.Unlock() }

// grepText returns the result in the form shown to the model.
func (w opened) grepText(in grepIn, j *grepJob, found *grepResults) string {
	found.prune()
	if found.total == 0 {
		hint := "try ignore_case, a shorter pattern or another path"
		if !in.Ignored && j.from.info.IsDir() {
			hint += "; files that .gitignore leaves out were not searched"
		}
		return joinLines(fmt.Sprintf("No match for %q in %s.", in.Pattern, show.Path(j.from.rel)), notes(hint, found.skipped()))
	}
	out := grepOutput{max: w.cfg.Limits.ReadBytes, gaps: j.before+j.after > 0}
	for _, f := range found.files {
		if !out.file(in.Mode, f, found.limit) {
			break
		}
	}
	return joinLines(out.b.String(), notes(out.left(found), found.skipped()))
}

func (g *grepResults) skipped() string {
	var ns []string
	if g.failed > 0 {
		ns = append(ns, plural(g.failed, "file")+" could not be read")
	}
	if g.oversize > 0 {
		ns = append(ns, plural(g.oversize, "file")+" too large for multiline left out")
	}
	return strings.Join(ns, "; ")
}

// grepOutput writes results until a limit is reached.
type grepOutput struct {
	b            strings.Builder
	max          int
	gaps         bool // mark gaps between the lines shown
	files, lines int  // number shown
}

func (o *grepOutput) file(mode string, f fileMatches, limit int) bool {
	name := show.Path(f.rel)
	switch {
	case o.b.Len()+len(name) > o.max:
		return false
	case mode == "files":
		o.b.WriteString(name + "\n")
		o.files, o.lines = o.files+1, o.lines+f.count
		return o.files < limit
	case mode == "count":
		o.b.WriteString(name + ": " + strconv.Itoa(f.count) + "\n")
		o.files, o.lines = o.files+1, o.lines+f.count
		return o.files < limit
	}
	o.b.WriteString(name + "\n")
	o.files++
	prev := 0
	for _, l := range f.lines {
		if l.match && (o.lines == limit || o.b.Len()+len(l.text) > o.max) {
			return false
		}
		if o.gaps && prev > 0 && l.num > prev+1 {
			o.b.WriteString("--\n")
		}
		prev = l.num
		sep := byte('-')
		if l.match {
			sep = ':'
			o.lines++
		}
		o.b.WriteString(strconv.Itoa(l.num))
		o.b.WriteByte(sep)
		o.b.WriteString(l.text)
		o.b.WriteByte('\n')
	}
	return true
}

// left returns a line with the totals and the number of results that were not shown.
func (o *grepOutput) left(g *grepResults) string {
	all := fmt.Sprintf("%s in %s", plural(g.lines, "matching line"), plural(g.total, "file"))
	if o.lines == g.lines && o.files == g.total {
		return all
	}
	return fmt.Sprintf("%s, of which %d in %s are shown; narrow the search or raise limit", all, o.lines, plural(o.files, "file"))
}
