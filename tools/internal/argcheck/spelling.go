package argcheck

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/luthier-dev/luthier/internal/json/jsonrepair"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// markSpellings marks the values of root that were written as numbers in a form that JSON does not
// have. Such a number is no text: +5 must not become "5", nor 0x1F "31".
func markSpellings(root *jsontree.Value, spellings []jsonrepair.Spelling) {
	if len(spellings) == 0 {
		return
	}
	n := 0
	var walk func(v *jsontree.Value)
	walk = func(v *jsontree.Value) {
		for _, x := range v.Items {
			walk(x)
		}
		for _, x := range v.Members {
			walk(x.Value)
		}
		if v.Kind == jsontree.Array || v.Kind == jsontree.Object {
			return
		}
		if len(spellings) > 0 && spellings[0].Value == n {
			v.Written = spellings[0].Text
			spellings = spellings[1:]
		}
		n++
	}
	walk(root)
}

// spelledText returns a fault for the first number without quotes that became text, or "".
func spelledText(root *jsontree.Value) string {
	path, v := search(root, func(v *jsontree.Value) string {
		if v.Kind == jsontree.String {
			return v.Written
		}
		return ""
	})
	if v == "" {
		return ""
	}
	return fmt.Sprintf("%s: %s is neither a JSON number nor text in quotes; write one of them", path, clip(v, 60))
}

// repeated returns a fault for the first key of an object that has two different values, or "":
// readers disagree about which of them counts.
func repeated(root *jsontree.Value) string {
	path, key := search(root, func(v *jsontree.Value) string {
		if len(v.Members) <= 8 {
			return pairwise(v.Members)
		}
		seen := make(map[string]*jsontree.Value, len(v.Members))
		for _, x := range v.Members {
			if old := seen[x.Key]; old != nil && !old.Equal(x.Value) {
				return " " + x.Key
			}
			seen[x.Key] = x.Value
		}
		return ""
	})
	if path == "" {
		return ""
	}
	return fmt.Sprintf("%s: the key %q is given twice, with different values", path, clip(key[1:], 60))
}

// pairwise returns the first key of a few members that has two values, after a blank, or "".
func pairwise(members []jsontree.Member) string {
	for i, x := range members {
		for _, y := range members[:i] {
			if x.Key == y.Key && !x.Value.Equal(y.Value) {
				return " " + x.Key
			}
		}
	}
	return ""
}

// search returns the path of the first value for which text returns something, and that text.
func search(root *jsontree.Value, text func(*jsontree.Value) string) (path, found string) {
	if at, found, ok := searchFrom(root, text); ok {
		slices.Reverse(at)
		return pathName(at), found
	}
	return "", ""
}

// searchFrom returns the path from its end to its start.
func searchFrom(v *jsontree.Value, text func(*jsontree.Value) string) (path []string, found string, ok bool) {
	if found = text(v); found != "" {
		return nil, found, true
	}
	for i, x := range v.Items {
		if path, found, ok = searchFrom(x, text); ok {
			return append(path, strconv.Itoa(i)), found, true
		}
	}
	for _, x := range v.Members {
		if path, found, ok = searchFrom(x.Value, text); ok {
			return append(path, x.Key), found, true
		}
	}
	return nil, "", false
}
