package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	index  = "docs/evidence.md"
	folder = "docs/evidence"
	head   = "<!-- Written by go run ./internal/cmd/evidence. Do not edit. -->\n"
)

// pages returns the index and a page for each subject, by their names from the root. The lines are
// sorted.
func pages(lines []line) map[string][]byte {
	out := map[string][]byte{}
	var list strings.Builder
	fmt.Fprintf(&list, "# Evidence\n\n%s\nEach claim has tests that check it. A page lists the claims of one subject. A claim is a line in the\n"+
		"comment of its tests: see [CONTRIBUTING.md](../CONTRIBUTING.md).\n\n| subject | claims | tests |\n|---|---:|---:|\n", head)
	for len(lines) > 0 {
		n := same(lines, func(l line) string { return l.subject })
		claims, text := subject(lines[:n])
		name, tests := lines[0].subject, map[[2]string]bool{}
		for _, l := range lines[:n] {
			tests[[2]string{l.file, l.test}] = true
		}
		out[folder+"/"+name+".md"] = text
		fmt.Fprintf(&list, "| [%s](evidence/%s.md) | %d | %d |\n", name, name, claims, len(tests))
		lines = lines[n:]
	}
	out[index] = []byte(list.String())
	return out
}

// subject returns how many claims the lines of one subject make, and their page.
func subject(lines []line) (claims int, text []byte) {
	var page bytes.Buffer
	fmt.Fprintf(&page, "# Evidence: %s\n\n%s\n| claim | tests |\n|---|---|\n", lines[0].subject, head)
	for ; len(lines) > 0; claims++ {
		n := same(lines, func(l line) string { return l.claim })
		links := make([]string, n)
		for i, l := range lines[:n] {
			links[i] = fmt.Sprintf("[%s](../../%s)", l.test, l.file)
		}
		fmt.Fprintf(&page, "| %s | %s |\n", lines[0].claim, strings.Join(links, ", "))
		lines = lines[n:]
	}
	return claims, page.Bytes()
}

// same returns the number of lines at the start that have the key of the first.
func same(lines []line, key func(line) string) int {
	n := slices.IndexFunc(lines, func(l line) bool { return key(l) != key(lines[0]) })
	if n < 0 {
		return len(lines)
	}
	return n
}

// present returns the generated pages that exist below dir.
func present(dir string) (map[string][]byte, error) {
	names, err := filepath.Glob(filepath.Join(dir, folder, "*.md"))
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, name := range append(names, filepath.Join(dir, index)) {
		text, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return nil, err
		}
		out[filepath.ToSlash(rel)] = text
	}
	return out, nil
}

// compare returns an error that names the pages which differ from want.
func compare(dir string, want map[string][]byte) error {
	have, err := present(dir)
	if err != nil {
		return err
	}
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if text, ok := have[name]; !ok || !bytes.Equal(text, want[name]) {
			differ = append(differ, name)
		}
		delete(have, name)
	}
	differ = append(differ, slices.Sorted(maps.Keys(have))...)
	if len(differ) > 0 {
		return fmt.Errorf("out of date: %s; run go run ./internal/cmd/evidence", strings.Join(differ, ", "))
	}
	return nil
}

// write makes the pages those of want and removes generated pages of subjects without a claim.
func write(dir string, want map[string][]byte) error {
	have, err := present(dir)
	if err != nil {
		return err
	}
	for name, text := range have {
		if want[name] == nil && bytes.Contains(text, []byte(head)) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
		return err
	}
	for name, text := range want {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
