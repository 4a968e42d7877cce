package trigram

import "slices"

// product joins each of a with each of b. It gives up where that makes too many.
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

// Two bytes of a neighbour make a trigram with one's own first byte; more would add nothing.
func head(s string) string { return s[:min(len(s), 2)] }
func tail(s string) string { return s[max(0, len(s)-2):] }

func firstByte(s string) string { return s[:min(len(s), 1)] }
func lastByte(s string) string  { return s[max(0, len(s)-1):] }

// shortened cuts each text. The empty one among them says that nothing is known, and stands alone
// then.
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

// fewer is the texts without doubles, cut to a byte where they are too many, and nothing known
// where they still are.
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
