package coding

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const noRipgrep = "none"

// completeRipgrep finds the rg program.
func (c *Config) completeRipgrep() error {
	switch c.Ripgrep {
	case noRipgrep:
		return nil
	case "":
		c.Ripgrep = noRipgrep
		// LookPath refuses programs that would be found only through "." in PATH, since those may
		// be files of the workspace.
		if p, err := exec.LookPath("rg"); err == nil {
			c.Ripgrep = p
		}
		return nil
	}
	p, err := exec.LookPath(c.Ripgrep)
	if err != nil {
		return fmt.Errorf("%w; give the path of rg, or %q for the built-in search", err, noRipgrep)
	}
	c.Ripgrep = p
	return nil
}

// errNoRipgrep means that rg did not search at all, so the built-in search must.
var errNoRipgrep = errors.New("ripgrep did not run")

// canRipgrep reports whether rg would search every file that the built-in search searches. There
// are three differences: rg treats a single file as text whatever it contains; above a directory
// that is in no repository it applies every .gitignore; and .rgignore files cannot be disabled
// separately. What rg finds in files that are not UTF-8 is searched again, decoded; of UTF-16, rg
// finds only files with a byte order mark. (An .rgignore below the root is not checked for: whoever
// puts it there wants it to apply.) In a sandbox's tree rg is not used: it would follow a link that
// a command puts in the place of a file, to files of this host.
func (w opened) canRipgrep(j *grepJob) bool {
	if !w.onHost || w.cfg.Ripgrep == noRipgrep || j.p.rg == "" || !j.from.info.IsDir() {
		return false
	}
	if j.p.multiline && j.p.scan.MatchString("") {
		return false // rg leaves out an empty match at the end of a file
	}
	if j.all {
		return true
	}
	_, err := w.root.Lstat(".rgignore")
	return err != nil && !strayIgnoreAbove(w.name)
}

func strayIgnoreAbove(dir string) bool {
	stray := false
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return false
		}
		if _, err := os.Lstat(filepath.Join(d, ".gitignore")); err == nil && d != dir {
			stray = true
		}
		if filepath.Dir(d) == d {
			return stray
		}
	}
}

// rgArgs returns arguments with which rg searches at least what the built-in search does;
// [rgReader.end] drops what it finds beyond that.
func (w opened) rgArgs(j *grepJob) []string {
	args := []string{"--no-config", "--no-mmap", "--hidden", "--no-ignore-global", "--no-ignore-dot",
		"--no-require-git", "--no-messages", "--glob", "!.git"}
	if j.all || w.ignored().Match(j.from.rel, true) {
		args = append(args, "--no-ignore")
	}
	if j.p.multiline {
		// Names are enough: ripgrep looks for a NUL only at the beginning of what it searches in
		// one piece, and it repeats whole files in its output. The named files are searched again.
		args = append(args, "--files-with-matches", "--null", "--multiline", "--max-filesize", strconv.Itoa(w.cfg.Limits.FileBytes))
	} else {
		args = append(args, "--json")
	}
	if j.before > 0 {
		args = append(args, "--before-context", strconv.Itoa(j.before))
	}
	if j.after > 0 {
		args = append(args, "--after-context", strconv.Itoa(j.after))
	}
	return append(args, "--regexp", j.p.rg, "--", "./"+j.from.rel)
}

// grepRipgrep searches with rg. If it fails with errNoRipgrep, nothing was added to found.
func (w opened) grepRipgrep(ctx context.Context, j *grepJob, found *grepResults) error {
	all := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.cfg.Ripgrep, w.rgArgs(j)...)
	cmd.Dir = w.name
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return errNoRipgrep
	}
	if err := cmd.Start(); err != nil {
		return errNoRipgrep
	}
	limitMemory(cmd.Process.Pid)
	heard := &heardReader{r: out, max: w.rgSilence, end: cancel}
	r := &rgReader{ctx: ctx, w: w, j: j, found: found, ignored: w.ignored().Match, g: grepper{w: w, ctx: ctx, j: j, found: found}}
	defer r.g.close()
	if j.all || r.ignored(j.from.rel, true) {
		r.ignored = func(string, bool) bool { return false }
	}
	readErr := r.read(heard)
	if readErr != nil {
		cancel()
	}
	waitErr := cmd.Wait()
	switch {
	case all.Err() != nil && readErr == nil:
		return context.Cause(all)
	case r.summary || r.j.p.multiline && (waitErr == nil || cmd.ProcessState.ExitCode() == 1):
		return nil // then a nonzero status means that a file could not be read, or that nothing matched
	case heard.silent.Load():
		found.reset()
		return errNoRipgrep
	case r.files == 0:
		return errNoRipgrep // a pattern that rg does not accept, or a program that is not ripgrep
	case readErr != nil:
		return fmt.Errorf("ripgrep: %w", readErr)
	}
	return fmt.Errorf("ripgrep ended early: %w", waitErr)
}

// rgText is a text in ripgrep's output; bytes that are not UTF-8 are in base64.
type rgText struct {
	Text  *string `json:"text"`
	Bytes []byte  `json:"bytes"`
}

func (t rgText) bytes() []byte {
	if t.Text != nil {
		return []byte(*t.Text)
	}
	return t.Bytes
}

// rgEvent is one line of the output of rg --json.
// https://docs.rs/grep-printer/latest/grep_printer/struct.JSON.html
type rgEvent struct {
	Type string `json:"type"`
	Data struct {
		Path   rgText `json:"path"`
		Lines  rgText `json:"lines"`
		Number int    `json:"line_number"`
		Binary *int64 `json:"binary_offset"`
	} `json:"data"`
}

// rgReader collects the events of one search.
type rgReader struct {
	w       opened
	j       *grepJob
	found   *grepResults
	ignored func(rel string, isDir bool) bool
	ctx     context.Context
	cur     fileMatches
	files   int
	summary bool
	legacy  bool // the current file is not UTF-8: it is searched again, decoded
	g       grepper
}

func (r *rgReader) read(out io.Reader) error {
	in := bufio.NewReaderSize(out, 64<<10)
	if r.j.p.multiline {
		return r.names(in)
	}
	dec := json.NewDecoder(in)
	for {
		var ev rgEvent
		if err := dec.Decode(&ev); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		switch ev.Type {
		case "begin":
			r.cur, r.legacy = fileMatches{rel: path.Clean(string(ev.Data.Path.bytes()))}, false
		case "match", "context":
			r.lines(ev)
		case "end":
			r.files++
			r.end(ev.Data.Binary != nil)
		case "summary":
			r.summary = true
		}
	}
}

// names searches the files that ripgrep names.
func (r *rgReader) names(in *bufio.Reader) error {
	for {
		name, err := in.ReadString(0)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		r.files++
		rel := path.Clean(strings.TrimSuffix(name, "\x00"))
		if r.wanted(rel) {
			r.g.file(rel)
		}
	}
}

// wanted reports whether the built-in search would look at a file.
func (r *rgReader) wanted(rel string) bool {
	return r.j.wants(rel) && !isTempName(path.Base(rel)) && !r.ignored(rel, false)
}

func (r *rgReader) lines(ev rgEvent) {
	r.legacy = r.legacy || ev.Data.Lines.Text == nil
	num := ev.Data.Number
	for line := range bytes.Lines(ev.Data.Lines.bytes()) {
		if num == 1 {
			line = bytes.TrimPrefix(line, []byte(bomUTF8))
		}
		match := ev.Type == "match" && (r.j.p.multiline || r.j.p.matchLine(line))
		if match {
			r.cur.count++
		}
		if r.j.keep < 0 || r.cur.count <= r.j.keep {
			r.cur.lines = append(r.cur.lines, grepLine{num, r.j.p.excerpt(line, r.w.cfg.Limits.LineBytes), match})
		}
		num++
	}
}

// end passes on the finished file, if the built-in search would have searched it too.
func (r *rgReader) end(binary bool) {
	if binary || r.cur.count == 0 && !r.legacy || !r.wanted(r.cur.rel) {
		return
	}
	if r.legacy {
		r.g.file(r.cur.rel)
		return
	}
	r.cur.lines = nearMatches(r.cur.lines, r.j.before, r.j.after)
	r.found.add(r.cur)
}

// nearMatches drops context lines whose match was dropped.
func nearMatches(lines []grepLine, before, after int) []grepLine {
	var at []int
	for _, l := range lines {
		if l.match {
			at = append(at, l.num)
		}
	}
	return slices.DeleteFunc(lines, func(l grepLine) bool {
		i, found := slices.BinarySearch(at, l.num)
		return !found && (i == 0 || l.num-at[i-1] > after) && (i == len(at) || at[i]-l.num > before)
	})
}
