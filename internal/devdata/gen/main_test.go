package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// TestSamplesAreTheGenerators checks that the committed files equal the output of the generator, so
// that none was edited by hand. On processors that fuse multiplication and addition, random weights
// may differ in the last bit, so files with random weights are skipped there.
func TestSamplesAreTheGenerators(t *testing.T) {
	tier.Normal(t)
	for name, want := range samples() {
		if runtime.GOARCH != "amd64" && (strings.HasPrefix(name, "moe-dev/models/") || strings.HasPrefix(name, "router-dev/")) {
			continue
		}
		got, err := os.ReadFile(filepath.Join("..", "testdata", filepath.FromSlash(name)))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s differs from what the generator writes: run go generate ./internal/devdata/gen", name)
		}
	}
}

// TestHalf converts all finite half-precision numbers, and checks that values halfway between two
// of them are rounded to even.
func TestHalf(t *testing.T) {
	for h := range uint16(0x7c00) {
		v := unhalf(h)
		if got := half(v); got != h {
			t.Fatalf("half(%g) = %#x, want %#x", v, got, h)
		}
		if h+1 == 0x7c00 {
			continue
		}
		if got, want := half((v+unhalf(h+1))/2), h+h&1; got != want {
			t.Fatalf("half of the middle above %g = %#x, want %#x", v, got, want)
		}
	}
}
