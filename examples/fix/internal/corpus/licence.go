package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// The sentences that identify a licence, converted by the function words. A text must contain all
// sentences of a row.
var licences = []struct {
	name string
	says []string
}{
	{"MIT", []string{
		"permission is hereby granted free of charge to any person obtaining a copy of this software",
		"the software is provided as is without warranty of any kind",
	}},
	{"ISC", []string{
		"permission to use copy modify and or distribute this software for any purpose with or without fee is hereby granted provided that the above copyright notice and this permission notice appear in all copies",
	}},
	{"ISC", []string{
		"permission to use copy modify and distribute this software for any purpose with or without fee is hereby granted provided that the above copyright notice and this permission notice appear in all copies",
	}},
	{"BSD-2-Clause", []string{
		"redistribution and use in source and binary forms with or without modification are permitted provided that the following conditions are met",
		"redistributions in binary form must reproduce the above copyright notice",
	}},
	{"Apache-2.0", []string{"apache license version 2 0 january 2004", "grant of copyright license"}},
	{"Apache-2.0", []string{"licensed under the apache license version 2 0"}},
	{"GPL", []string{"gnu general public license"}},
	{"LGPL", []string{"gnu lesser general public license"}},
	{"LGPL", []string{"gnu library general public license"}},
	{"AGPL", []string{"gnu affero general public license"}},
	{"MPL", []string{"mozilla public license"}},
	{"EPL", []string{"eclipse public license"}},
	{"CDDL", []string{"common development and distribution license"}},
	{"CC-BY", []string{"creative commons attribution"}},
	{"BUSL", []string{"business source license"}},
	{"SSPL", []string{"server side public license"}},
}

// Classify names the licences whose wording a text contains, as an SPDX expression ("MIT AND
// Apache-2.0"), sorted by name. It returns "" if it recognises none. In doubt, it names too many: a
// text that mentions the GPL is not permissive, whatever else it contains.
func Classify(text string) string {
	flat := words(text)
	var found []string
	for _, l := range licences {
		all := true
		for _, s := range l.says {
			all = all && strings.Contains(flat, s)
		}
		if !all || slices.Contains(found, l.name) {
			continue
		}
		found = append(found, l.name)
	}
	if i := slices.Index(found, "BSD-2-Clause"); i >= 0 {
		switch {
		case strings.Contains(flat, "all advertising materials mentioning features"):
			found[i] = "BSD-4-Clause"
		case strings.Contains(flat, "endorse or promote products"):
			found[i] = "BSD-3-Clause"
		}
	}
	slices.Sort(found)
	return strings.Join(found, " AND ")
}

// Permissive reports whether an SPDX expression in Classify's form consists only of licences that
// this corpus accepts: MIT, ISC, BSD with two or three clauses, Apache 2.0.
func Permissive(expression string) bool {
	for _, l := range strings.Split(expression, " AND ") {
		switch l {
		case "MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0":
		default:
			return false
		}
	}
	return true
}

// words converts a text to lower case and replaces everything between letters and digits with one
// space, since licence texts differ in quotes, line breaks, indentation and bullets.
func words(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	space := false
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Licence classifies the licence files of a directory together; The result ok is false if there are
// none. Files that cover only documentation (LICENSE.docs) do not count.
func Licence(dir string) (expression string, ok bool, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", false, fmt.Errorf("corpus: read licence: %w", err)
	}
	var text strings.Builder
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenceName(e.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", false, fmt.Errorf("corpus: read licence: %w", err)
		}
		text.Write(data)
		text.WriteByte('\n')
	}
	return Classify(text.String()), text.Len() > 0, nil
}

func licenceName(file string) bool {
	name := strings.ToLower(file)
	if strings.HasSuffix(name, ".docs") || strings.HasSuffix(name, ".go") {
		return false
	}
	for _, p := range []string{"license", "licence", "copying", "unlicense"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
