package compaction

import (
	"fmt"
	"path"
	"strings"
)

// condense shortens a listing of paths, or the lines that a search found, by naming each directory
// or file once. If that is not enough, it drops lines from the middle of each group and says how
// many. It returns at most room bytes.
func condense(text string, room int) string {
	groups := groupLines(text)
	for per := 1 << 20; ; per /= 2 {
		if s := writeGroups(groups, per); len(s) <= room || per <= 1 {
			return cutLines(s, room)
		}
		if per == 1<<20 {
			per = 128
		}
	}
}

// group is a run of lines with the same directory or file.
type group struct {
	head  string // "" for lines that have nothing in common
	join  string // the separator between items
	items []string
}

func groupLines(text string) []group {
	var gs []group
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		head, item, join := splitLine(line)
		if n := len(gs); n > 0 && gs[n-1].head == head {
			gs[n-1].items = append(gs[n-1].items, item)
			continue
		}
		gs = append(gs, group{head, join, []string{item}})
	}
	return gs
}

// splitLine splits "dir/file" and "file:12:text" after the shared part.
func splitLine(line string) (head, item, join string) {
	line = strings.TrimRight(line, " \r")
	if file, rest, ok := strings.Cut(line, ":"); ok && rest != "" && !strings.ContainsAny(file, " \t") && strings.ContainsAny(file, "/.") && len(file) < 200 {
		return file + ":", rest, "\n  "
	}
	if !strings.ContainsAny(line, " \t") && strings.Contains(line, "/") && !strings.HasSuffix(line, ":") {
		dir, base := path.Split(strings.TrimSuffix(line, "/"))
		if strings.HasSuffix(line, "/") {
			base += "/"
		}
		if dir != "" && dir != "/" {
			return dir, base, " "
		}
	}
	if line != "" && !strings.ContainsAny(line, " \t:") {
		return "", line, " " // plain names, as ls prints them
	}
	return "\x00" + line, line, "\n"
}

func writeGroups(gs []group, per int) string {
	var b strings.Builder
	for _, g := range gs {
		items := g.items
		left := 0
		if len(items) > per {
			left = len(items) - per
			items = items[:per]
		}
		switch {
		case strings.HasPrefix(g.head, "\x00"):
			b.WriteString(items[0])
		case len(g.items) == 1 && g.join != " ":
			b.WriteString(g.head + " " + items[0])
		case len(g.items) == 1:
			b.WriteString(g.head + items[0])
		default:
			if g.head != "" {
				b.WriteString(g.head + g.join)
			}
			b.WriteString(strings.Join(items, g.join))
		}
		if left > 0 {
			fmt.Fprintf(&b, "%s… %d more", g.join, left)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// cutLines keeps the beginning and the end of s within room bytes, cutting at line ends if there
// are any.
func cutLines(s string, room int) string {
	if len(s) <= room {
		return s
	}
	const mark = "\n[…]\n"
	room -= len(mark)
	if room <= 0 {
		return ""
	}
	head := cutAt(s, room*2/3)
	if i := strings.LastIndexByte(head, '\n'); i > len(head)/2 {
		head = head[:i]
	}
	tail := s[len(s)-room/3:]
	for len(tail) > 0 && tail[0]&0xc0 == 0x80 {
		tail = tail[1:]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	}
	return head + mark + tail
}
