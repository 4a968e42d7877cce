package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this
		software and associated documentation files (the "Software"), to deal in the Software without restriction…
		THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED`
	isc = `Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby
		granted, provided that the above copyright notice and this permission notice appear in all copies.`
	bsd2 = `Redistribution and use in source and binary forms, with or without modification, are permitted provided that
		the following conditions are met: * Redistributions of source code must retain the above copyright notice
		* Redistributions in binary form must reproduce the above copyright notice, this list of conditions`
	bsd3 = bsd2 + ` * Neither the name of the author may be used to endorse or promote products derived from this software`
	bsd4 = bsd3 + ` All advertising materials mentioning features or use of this software must display`
	gpl  = `This program is distributed under the terms of the GNU General
		// Public License`
)

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		text, want string
		permissive bool
	}{
		{mit, "MIT", true},
		{strings.ReplaceAll(mit, "\n", "\r\n// "), "MIT", true},
		{isc, "ISC", true},
		{bsd2, "BSD-2-Clause", true},
		{bsd3, "BSD-3-Clause", true},
		{bsd4, "BSD-4-Clause", false},
		{"Apache License\nVersion 2.0, January 2004\n … Grant of Copyright License. …", "Apache-2.0", true},
		{"Licensed under the Apache License, Version 2.0 (the \"License\");", "Apache-2.0", true},
		{mit + bsd3, "BSD-3-Clause AND MIT", true},
		{gpl, "GPL", false},
		{mit + "\nParts are under the GNU Lesser General Public License", "LGPL AND MIT", false},
		{"Mozilla Public License Version 2.0", "MPL", false},
		{mit[:60], "", false},
		{"All rights reserved.", "", false},
		{"", "", false},
	} {
		if got := Classify(c.text); got != c.want || Permissive(got) != c.permissive {
			t.Errorf("Classify(%.40q…) = %q, permissive %v; want %q, %v", c.text, got, Permissive(got), c.want, c.permissive)
		}
	}
}

// Evidence: training · Licences are read from the modules
func TestLicence(t *testing.T) {
	dir := t.TempDir()
	check := func(want string, wantOK bool) {
		t.Helper()
		if got, ok, err := Licence(dir); got != want || ok != wantOK || err != nil {
			t.Errorf("got %q, %v, %v; want %q, %v", got, ok, err, want, wantOK)
		}
	}
	check("", false)
	write(t, dir, "LICENSE.docs", gpl)
	write(t, dir, "licenses/LICENSE", gpl)
	write(t, dir, "license.go", gpl)
	check("", false)
	write(t, dir, "LICENSE.md", mit)
	check("MIT", true)
	write(t, dir, "COPYING", gpl)
	check("GPL AND MIT", true)
	if _, _, err := Licence(filepath.Join(dir, "none")); err == nil {
		t.Error("no error for a directory that is not there")
	}
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// FuzzClassify checks that a text that names the GPL is not permissive, whatever else it contains.
func FuzzClassify(f *testing.F) {
	for _, s := range []string{mit, isc, bsd2, bsd3, bsd4, gpl, "", "\xff é GNU"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Classify(text)
		if got != Classify(strings.ToUpper(text)) && strings.ToUpper(strings.ToLower(text)) == strings.ToUpper(text) && isASCII(text) {
			t.Errorf("letters' case makes a difference to %q", text)
		}
		if Permissive(Classify(text + "\n" + gpl)) {
			t.Errorf("permissive in spite of the GPL: %q", text)
		}
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0
}

func ExampleClassify() {
	text := "Permission is hereby granted, free of charge, to any person obtaining a copy of this software …\n" +
		"THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND …"
	fmt.Println(Classify(text), Permissive(Classify(text)))
	// Output: MIT true
}
