package tokenizer

// words describes the splitting rules derived from GPT-2's: contractions, letters, numbers,
// punctuation, white space. With all fields zero, they are, written as the regular expressions that
// the models' authors publish in tokenizer.json,
//
//	[^\r\n\p{L}\p{N}]?\p{L}+ | \p{N}+ | ?[^\s\p{L}\p{N}]+ | \s*[\r\n]+ | \s+(?!\S) | \s+
type words struct {
	contractions bool   // (?i:'s|'t|'re|'ve|'m|'ll|'d): tried first, or, for cased words, after them
	cased        bool   // words are [^\r\n\p{L}\p{N}]?U*L+ or …U+L*, so that camelCase is split in two
	marks        bool   // \p{M} counts as a letter
	phrases      bool   // single spaces between letters are part of the word
	han          bool   // \p{Han}+ is a word of its own and not part of a cased word
	digits       int    // \p{N}{1,digits}; 0 means no limit
	tail         string // [tail]* after punctuation is part of it
	tailOnce     bool   // [tail]? instead of [tail]*
}

// match returns the end of the word at i. There is always a word.
func (w *words) match(t *classTable, s string, i int) int {
	c, n := t.at(s, i)
	if w.contractions && !w.cased && s[i] == '\'' {
		if k := contraction(s, i, true); k > 0 {
			return i + k
		}
	}
	if w.han && c&han != 0 {
		return t.run(s, i, han, 0)
	}
	if e := w.word(t, s, i, c, n); e > i {
		return e
	}
	if c&number != 0 {
		return runOfNumbers(t, s, i, w.digits)
	}
	if e := w.punctuation(t, s, i, c); e > i {
		return e
	}
	return t.blanks(s, i, true)
}

// word matches letters, optionally preceded by one rune that is neither a letter, a number nor a
// line end.
func (w *words) word(t *classTable, s string, i int, c class, n int) int {
	if w.cased {
		return w.casedWord(t, s, i, c, n)
	}
	want := letter
	if w.marks {
		want |= mark
	}
	from := i
	if c&want == 0 && c&(letter|number|newline) == 0 {
		from += n
	}
	e := t.run(s, from, want, 0)
	if e == from {
		return i
	}
	if w.phrases {
		return phrase(t, s, e)
	}
	return e
}

// phrase extends a word that ends at i by marks, and by single spaces followed by letters.
func phrase(t *classTable, s string, i int) int {
	for {
		c, n := t.at(s, i)
		if n == 1 && s[i] == ' ' {
			if c, _ := t.at(s, i+1); c&letter == 0 {
				return i
			}
		} else if c&(letter|mark) == 0 {
			return i
		}
		i += n
	}
}

// casedWord matches [^\r\n\p{L}\p{N}]?U*L+, or else [^\r\n\p{L}\p{N}]?U+L*, where U may stand
// before and L after a change of case, each followed by an optional contraction. The attempts come
// in the order of a backtracking regular expression.
func (w *words) casedWord(t *classTable, s string, i int, c class, n int) int {
	var not class
	if w.han {
		not = han
	}
	starts, count := [2]int{i}, 1
	if c&(letter|number|newline) == 0 {
		starts, count = [2]int{i + n, i}, 2
	}
	for _, from := range starts[:count] {
		if e := rising(t, s, from, not); e > from {
			return w.contracted(s, e)
		}
	}
	for _, from := range starts[:count] {
		if e := t.run(s, from, upper, not); e > from {
			return w.contracted(s, t.run(s, e, lower, not))
		}
	}
	return i
}

// rising matches U*L+ at i. Modifiers, marks and letters without case are both U and L, so the
// longest run of U may have to be shortened by its last rune, so that one L remains.
func rising(t *classTable, s string, i int, not class) int {
	given := i // the end of the last rune in the run that is both U and L
	j := i
	for {
		c, n := t.at(s, j)
		if c&upper == 0 || c&not != 0 {
			break
		}
		j += n
		if c&lower != 0 {
			given = j
		}
	}
	if e := t.run(s, j, lower, not); e > j {
		return e
	}
	return given
}

// contracted returns the end of a word that ends at i, including a contraction after it.
func (w *words) contracted(s string, i int) int {
	if w.contractions && i < len(s) && s[i] == '\'' {
		return i + contraction(s, i, true)
	}
	return i
}

// punctuation matches ` ?[^\s\p{L}\p{N}]+[tail]*`.
func (w *words) punctuation(t *classTable, s string, i int, c class) int {
	not := space | letter | number
	if w.marks {
		not |= mark
	}
	from := i
	if s[i] == ' ' {
		from++
		c, _ = t.at(s, from)
	}
	if from == len(s) || c&not != 0 {
		return i
	}
	e := t.runNot(s, from, not)
	for e < len(s) && isIn(w.tail, s[e]) {
		if e++; w.tailOnce {
			break
		}
	}
	return e
}

// isIn reports whether set contains c.
func isIn(set string, c byte) bool {
	for i := 0; i < len(set); i++ {
		if set[i] == c {
			return true
		}
	}
	return false
}

// runOfNumbers matches \p{N}{1,limit}, with no limit if it is 0.
func runOfNumbers(t *classTable, s string, i, limit int) int {
	for k := 0; limit == 0 || k < limit; k++ {
		c, n := t.at(s, i)
		if c&number == 0 {
			break
		}
		i += n
	}
	return i
}

// contraction returns the length of the English contraction at i, where s has an apostrophe, or 0.
func contraction(s string, i int, anyCase bool) int {
	if i+1 >= len(s) {
		return 0
	}
	var fold byte
	if anyCase {
		fold = 'a' - 'A'
	}
	a := s[i+1] | fold
	switch a {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v', 'l':
		if i+2 < len(s) {
			if b := s[i+2] | fold; b == 'l' && a == 'l' || b == 'e' && a != 'l' {
				return 3
			}
		}
	}
	return 0
}

// blanks matches white space. If there are newlines, it matches up to the last line end of the run
// (\s*[\r\n]+). Otherwise it matches all of the run except its last rune, which belongs to the next
// word (\s+(?!\S)), or else the whole run (\s+).
func (t *classTable) blanks(s string, i int, newlines bool) int {
	line, last, j := i, i, i
	for {
		c, n := t.at(s, j)
		if c&space == 0 {
			break
		}
		last = j
		j += n
		if c&newline != 0 {
			line = j
		}
	}
	switch {
	case newlines && line > i:
		return line
	case j == len(s) || last == i:
		return j
	}
	return last
}

// gpt2 matches the rule of GPT-2 and of the byte-level splitter of Hugging Face's tokenizers:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func gpt2(t *classTable, s string, i int) int {
	if s[i] == '\'' {
		if k := contraction(s, i, false); k > 0 {
			return i + k
		}
	}
	from := i
	if s[i] == ' ' {
		from++
	}
	c, n := t.at(s, from)
	switch {
	case n == 0:
	case c&letter != 0:
		return t.run(s, from, letter, 0)
	case c&number != 0:
		return t.run(s, from, number, 0)
	case c&space == 0:
		return t.runNot(s, from, space|letter|number)
	}
	return t.blanks(s, i, false)
}

// scripted matches the last rule of DeepSeek-V3, which leaves numbers and invisible runes in the
// text between matches:
//
//	[!-/:-@[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func scripted(t *classTable, s string, i int) int {
	c, n := t.at(s, i)
	if s[i] < 128 && c&(punct|symbol) != 0 {
		j := i + 1
		for j < len(s) && s[j]|0x20-'a' < 26 {
			j++
		}
		if j > i+1 {
			return j
		}
	}
	from := i
	if c&(letter|mark|punct|symbol|newline) == 0 {
		from += n
	}
	if e := t.run(s, from, letter|mark, 0); e > from {
		return e
	}
	if from = i; s[i] == ' ' {
		from++
	}
	if e := t.run(s, from, punct|symbol, 0); e > from {
		return t.run(s, e, newline, 0)
	}
	if c&space != 0 {
		return t.blanks(s, i, true)
	}
	return i
}
