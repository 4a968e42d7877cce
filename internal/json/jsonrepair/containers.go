package jsonrepair

import "strings"

// value repairs one value at the cursor.
func (r *repairer) value() error {
	r.space()
	if r.eof() {
		return r.truncated("a value")
	}
	switch r.at(r.i) {
	case '{':
		return r.object()
	case '[':
		_, err := r.list(']')
		return err
	case '(':
		return r.tuple()
	case '\\':
		return errEscaped
	}
	if q, ok := quoteAt(r.s, r.i); ok {
		r.scalars++
		return r.str(q, false)
	}
	if strings.HasPrefix(r.s[r.i:], "```") && len(r.stack) > 0 {
		return r.fencedValue()
	}
	return r.bare()
}

// object repairs the members between braces.
func (r *repairer) object() error {
	if err := r.push('{'); err != nil {
		return err
	}
	r.i++
	r.space()
	if len(r.stack) == 1 && (r.at(r.i) == '{' || strings.HasPrefix(r.s[r.i:], "```") && !r.fenced) {
		return r.inBrackets('}')
	}
	r.out = append(r.out, '{')
	first, comma := true, false
	for {
		r.space()
		done, again, err := r.between(&first, &comma, '}')
		if err != nil {
			return err
		}
		if done {
			break
		}
		if again {
			continue
		}
		if c := r.at(r.i); c == '{' && !first && r.up(2) == '[' {
			r.note(fixMissingClose) // [{"a":1,{"a":2}]
			break
		}
		dropped, err := r.dropStray(first)
		if err != nil {
			return err
		}
		if dropped {
			continue
		}
		if !first {
			if !comma {
				r.note(fixMissingComma)
			}
			r.out = append(r.out, ',')
		}
		first, comma = false, false
		if err := r.memberAt(); err != nil {
			return err
		}
	}
	r.pop()
	r.out = append(r.out, '}')
	return nil
}

// memberAt repairs one key, colon and value.
func (r *repairer) memberAt() error {
	if err := r.key(); err != nil {
		return err
	}
	r.space()
	switch c := r.at(r.i); {
	case r.eof():
		return r.truncated("an object")
	case c == ':' && r.at(r.i+1) != '=' && r.at(r.i+1) != ':':
		r.i++
	case r.equalsAt(r.i) > 0:
		r.i += r.equalsAt(r.i)
		r.equals = true
		r.note(fixEquals)
	case r.separator(r.i) > 0:
		r.i += r.separator(r.i)
		r.note(fixEquals)
	case c == ',' || c == '}' || c == ']':
		return r.fail(Ambiguous, "a key has no value")
	case !r.valueAt(r.i) || r.quotedKeyAt(r.i):
		return r.fail(Ambiguous, "a key is followed by neither a colon nor a value")
	default:
		r.note(fixMissingColon)
	}
	r.out = append(r.out, ':')
	r.space()
	switch c := r.at(r.i); {
	case r.eof():
		return r.truncated("an object")
	case c == ',' || c == '}' || c == ']':
		return r.fail(Ambiguous, "a key has no value")
	case ellipsisAt(r.s, r.i) > 0:
		return r.fail(Ambiguous, "a value is left out with an ellipsis")
	}
	return r.value()
}

// list repairs the elements up to the closing bracket end. The result many reports whether there
// was a comma.
func (r *repairer) list(end byte) (many bool, err error) {
	open := byte('[')
	if end == ')' {
		open = '('
	}
	if err := r.push(open); err != nil {
		return false, err
	}
	r.i++
	r.space()
	if len(r.stack) == 1 && end == ']' && strings.HasPrefix(r.s[r.i:], "```") && !r.fenced {
		return false, r.inBrackets(end)
	}
	r.out = append(r.out, '[')
	first, comma := true, false
	for {
		r.space()
		done, again, err := r.between(&first, &comma, end)
		if err != nil {
			return false, err
		}
		if done {
			break
		}
		many = many || comma
		if again {
			continue
		}
		if r.at(r.i) == ':' {
			return false, r.fail(Ambiguous, "a list holds a key; write an object in braces")
		}
		if !first && !comma && r.strayMarkAt(r.i) {
			return false, r.fail(Ambiguous, "%q is between the elements", r.s[r.i])
		}
		if !first && r.up(2) == '{' && r.quotedKeyAt(r.i) {
			r.note(fixMissingClose) // {"a": [1, 2, "b": 3}
			r.unclosed = true
			break
		}
		if !first {
			if !comma {
				r.note(fixMissingComma)
			}
			r.out = append(r.out, ',')
		}
		first, comma = false, false
		if err := r.value(); err != nil {
			return false, err
		}
	}
	r.pop()
	r.out = append(r.out, ']')
	return many, nil
}

// between handles the text between two elements: closing brackets, commas and ellipses. The result
// done means that the container ends; again means that between must be called again.
func (r *repairer) between(first, comma *bool, end byte) (done, again bool, err error) {
	c := r.at(r.i)
	switch {
	case r.eof():
		return false, false, r.truncated(containerName(end))
	case r.fenced && strings.HasPrefix(r.s[r.i:], "```"):
		r.note(fixMissingClose) // the fence is closed, so the text is complete and a bracket is missing
		return true, false, nil
	case c == end:
		if *comma {
			r.note(fixTrailingComma)
		}
		r.i++
		return true, false, nil
	case c == '}' || c == ']' || c == ')':
		return r.wrongClose(c)
	case c == '#' && !*comma && !(*first && end != '}') || c == '#' && end == '}':
		n := r.hashComment(r.i)
		if n == 0 {
			return false, false, r.truncated(containerName(end))
		}
		r.note(fixComment)
		r.i += n
		return false, true, nil
	case r.comma(r.i) > 0 || c == ';' && !*first:
		if c != ',' {
			r.note(fixSemicolon)
		}
		if *first || *comma {
			r.note(fixExtraComma)
		}
		*comma = !*first
		r.i += max(1, r.comma(r.i))
		return false, true, nil
	case ellipsisAt(r.s, r.i) > 0:
		r.note(fixEllipsis)
		r.i += ellipsisAt(r.s, r.i)
		return false, true, nil
	}
	return false, false, nil
}

func containerName(end byte) string {
	if end == '}' {
		return "an object"
	}
	return "a list"
}
