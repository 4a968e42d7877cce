package trigram

import "slices"

// product concatenates each element of a with each of b. It reports false if that would make too
// many.
func product(a, b []string) ([]string, bool) {
	if len(a)*len(b) > maxTexts {
		return nil, false
	}
	out := make([]string, 0, len(a)*len(b))
	size := 0
	for _, x := range a {
		for _, y := range b {
			if size += len(x) + len(y); size > maxText {
				return nil, false
			}
			out = append(out, x+y)
		}
	}
	return out, true
}

func (a info) tooMuch() bool {
	size := 0
	for _, s := range a.texts {
		size += len(s)
	}
	return len(a.texts) > maxTexts || size > maxText
}

// head returns the first two bytes, which together with the last bytes of a neighbour form
// trigrams; more would add nothing.
func head(s string) string { return s[:min(len(s), 2)] }
func tail(s string) string { return s[max(0, len(s)-2):] }

func firstByte(s string) string { return s[:min(len(s), 1)] }
func lastByte(s string) string  { return s[max(0, len(s)-1):] }

// shortened cuts each text. If a text becomes empty, nothing is known about the matches, and the
// result is only the empty text.
func shortened(texts []string, cut func(string) string) []string {
	out := make([]string, len(texts))
	for i, s := range texts {
		if out[i] = cut(s); out[i] == "" {
			return []string{""}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// fewer returns the texts without duplicates. If there are too many, they are cut to one byte. If
// there are still too many, the result is only the empty text, which means that nothing is known.
func fewer(texts []string, cut func(string) string) []string {
	out := shortened(texts, func(s string) string { return s })
	if len(out) > maxTexts {
		out = shortened(out, cut)
	}
	if len(out) > maxTexts {
		return []string{""}
	}
	return out
}
