package eval

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// ErrNoRipgrep means that ripgrep is not installed.
var ErrNoRipgrep = errors.New("eval: ripgrep is not installed")

// RipgrepLines ranks files by the number of lines that contain a word of the query, like an agent's
// first grep.
func RipgrepLines(ctx context.Context, dir, query string) ([]string, error) {
	scores := map[string]float64{}
	err := ripgrep(ctx, dir, Words(query), []string{"--count", "--null"}, func(line []byte) {
		path, count, _ := bytes.Cut(line, []byte{0})
		if n, err := strconv.Atoi(string(count)); err == nil {
			scores[cleanPath(path)] = float64(n)
		}
	})
	return sortRanked(scores), err
}

// RipgrepWords ranks files by the number of distinct query words they contain, and by matching
// lines if that is equal.
func RipgrepWords(ctx context.Context, dir, query string) ([]string, error) {
	scores := map[string]float64{}
	seen := map[string]bool{}
	args := []string{"--only-matching", "--no-line-number", "--with-filename", "--null"}
	err := ripgrep(ctx, dir, Words(query), args, func(line []byte) {
		p, word, _ := bytes.Cut(line, []byte{0})
		path := cleanPath(p)
		key := path + "\x00" + strings.ToLower(string(word))
		scores[path] += 1e-9
		if !seen[key] {
			seen[key] = true
			scores[path]++
		}
	})
	return sortRanked(scores), err
}

func cleanPath(p []byte) string {
	return strings.TrimPrefix(strings.ReplaceAll(string(p), `\`, "/"), "./")
}

// ripgrep searches for words, ignoring case, and yields the lines it prints.
func ripgrep(ctx context.Context, dir string, words, args []string, yield func(line []byte)) error {
	if len(words) == 0 {
		return nil
	}
	program, err := exec.LookPath("rg")
	if err != nil {
		return ErrNoRipgrep
	}
	args = append(args, "--no-config", "--ignore-case", "--fixed-strings", "--hidden", "--no-ignore", "--no-messages",
		"--max-filesize=1M", "--file=-", ".")
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(strings.Join(words, "\n") + "\n")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("eval: run ripgrep: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("eval: run ripgrep: %w", err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 64<<10), 4<<20)
	for lines.Scan() {
		yield(lines.Bytes())
	}
	err = errors.Join(lines.Err(), cmd.Wait())
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil // no match
	}
	if err != nil {
		return fmt.Errorf("eval: run ripgrep: %w", err)
	}
	return nil
}
