package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestFixesTheBundledModule checks that the embedded model repairs the module that comes with the
// program: one line of one file changes, and afterwards the tests pass.
func TestFixesTheBundledModule(t *testing.T) {
	dir, err := bundled()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	before := readTree(t, dir)
	status, err := fix(context.Background(), options{dir: dir, scope: "package", edits: 10, timeout: time.Minute}, &display{w: os.Stderr})
	if status != statusFixed || err != nil {
		t.Fatalf("status %d, %v; want 0", status, err)
	}
	changed := 0
	for name, text := range readTree(t, dir) {
		was, is := strings.Split(before[name], "\n"), strings.Split(text, "\n")
		if len(was) != len(is) {
			t.Fatalf("%s has %d lines, had %d", name, len(is), len(was))
		}
		for i := range is {
			if was[i] != is[i] {
				changed++
			}
		}
	}
	if changed != 1 {
		t.Errorf("%d lines changed, want 1", changed)
	}
	cmd := exec.Command("go", "test", "./...")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the tests still fail: %v\n%s", err, out)
	}
}
