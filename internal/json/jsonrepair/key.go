package jsonrepair

// key repairs the key at the cursor.
func (r *repairer) key() error {
	if r.at(r.i) == '\\' {
		return errEscaped
	}
	if q, ok := quoteAt(r.s, r.i); ok {
		return r.str(q, true)
	}
	if key, next, ok := r.luaKeyAt(r.i); ok {
		r.note(fixBareKey)
		r.encode(key)
		r.i = next
		return nil
	}
	if r.at(r.i) == ':' && isWord(r.at(r.i+1)) {
		r.i++ // Ruby's {:a => 1}
	}
	end := r.i
	for end < len(r.s) && (isWord(r.s[end]) || r.s[end] == '-' || r.s[end] == '.' || r.s[end] >= 0x80 && oddSpace(r.s, end) == 0) && r.separator(end) == 0 {
		end++
	}
	switch {
	case end >= len(r.s):
		return r.truncated("a key")
	case end == r.i:
		return r.fail(Malformed, "a key was expected, not %q", r.s[r.i])
	}
	if next := r.skipBlank(end); r.separator(next) == 0 && r.equalsAt(next) == 0 {
		if r.at(next) == '"' && r.quotedEndsKey(end) {
			r.note(fixMissingQuote)
			r.encode(r.s[r.i:end])
			r.i = next + 1
			return nil
		}
		if next >= len(r.s) {
			return r.truncated("a key")
		}
		if _, quoted := quoteAt(r.s, next); quoted && next > end && !r.quotedKeyAt(next) {
			r.note(fixBareKey) // {a "b"}
			r.encode(r.s[r.i:end])
			r.i = end
			return nil
		}
		return r.fail(Ambiguous, "%q is neither a key nor a value", clip(r.s[r.i:end]))
	}
	r.note(fixBareKey)
	r.encode(r.s[r.i:end])
	r.i = end
	return nil
}

// quotedEndsKey reports whether the bare text that ends at the parameter end is a key whose opening
// quote is missing, as in key": 1.
func (r *repairer) quotedEndsKey(end int) bool {
	return r.at(end) == '"' && r.at(r.skipBlank(end+1)) == ':'
}
