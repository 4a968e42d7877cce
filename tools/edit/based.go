package edit

import "strings"

// replaceInBase makes the edit in the text that the model was shown and merges the result into the
// current text.
func replaceInBase(mark, body, base string, r Replacement) (Result, error) {
	f, err := resolve(base, r)
	switch KindOf(err) {
	case "":
	case NotFound, AlreadyApplied, Elided, OverEscaped: // the model may be quoting what it has written itself since
		f, err := resolve(body, r)
		if err == nil {
			f.notes = append(f.notes, "the file was changed since it was last shown; the old text was found in it as it is now")
			return finish(mark, body, f)
		}
		if e, ok := err.(*Error); ok && e.Kind == NotFound {
			e.Kind = FileChanged
			e.Detail = "the old text is not in the file, which was changed since it was last shown"
			e.Advice = "Read the file again and make the edit on what it says now"
		}
		return Result{}, err
	default:
		if e, ok := err.(*Error); ok && len(e.Lines) > 0 {
			e.Detail += " (lines of the text as it was last shown)"
		}
		return Result{}, err
	}
	done, err := finish("", base, f)
	if err != nil {
		return Result{}, err
	}
	b, ours := splitLines(base), splitLines(body)
	theirs := editHunks(b, base, done.Content, f.changes)
	merged, err := mergeHunks("replace", b, ours, theirs)
	if err != nil {
		return Result{}, err
	}
	text := joinMerged(merged, mainEOL(ours), base, body, done.Content)
	if text == body {
		e := refuse(AlreadyApplied, "the file was changed since it was last shown and has this edit already", "Go on; there is nothing to change here")
		return Result{}, e
	}
	done.Content = mark + text
	done.Strategy = "merged+" + f.strategy
	done.Notes = append(done.Notes, "the file was changed since it was last shown; the edit was merged into it as it is now")
	done.Line, done.EndLine = changedLines(body, text)
	return done, nil
}

// editHunks converts an edit of base to hunks. For a single change the place is known and only its
// own lines are compared, so that the change cannot drift to an equal line elsewhere.
func editHunks(lines []line, base, edited string, changes []change) []hunk {
	if len(changes) != 1 {
		return diffHunks(lines, splitLines(edited))
	}
	c := changes[0]
	start := strings.LastIndexByte(base[:c.a], '\n') + 1
	end := c.b
	if whole := start == c.a && (c.text == "" || strings.HasSuffix(c.text, lf)); !whole || end > 0 && base[end-1] != '\n' {
		if i := strings.IndexByte(base[end:], '\n'); i >= 0 {
			end += i + 1
		} else {
			end = len(base)
		}
	}
	first := strings.Count(base[:start], lf)
	hs := diffHunks(splitLines(base[start:end]), splitLines(base[start:c.a]+c.text+base[c.b:end]))
	for i := range hs {
		hs[i].a += first
		hs[i].b += first
	}
	return hs
}

// changedLines returns the range of lines of after in which it differs from before.
func changedLines(before, after string) (first, last int) {
	head := commonPrefix(before, after)
	tail := commonSuffix(before[head:], after[head:])
	first = lineAt(after, head)
	last = lineAt(after, max(head, len(after)-tail-1))
	return first, last
}
