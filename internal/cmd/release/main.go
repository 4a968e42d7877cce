// Command release writes the modules of this repository, as they are in its last commit, into a
// file-system module proxy, from which any Go program can import and install them:
//
//	go run ./internal/cmd/release v0.1.0 -o DIR
//	GOPROXY=file://DIR,https://proxy.golang.org GONOSUMDB=github.com/luthier-dev/* go get github.com/luthier-dev/luthier@v0.1.0
//
// Every module that go.work joins is released under the same version. Their go.mod files require
// each other at that version and have no replace directives. DIR may hold earlier versions, which
// stay; a version that is there already is refused, because what is published never changes.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	flags := flag.NewFlagSet("release", flag.ExitOnError)
	out := flags.String("o", "", "write the proxy's files into this `directory`")
	dir := flags.String("dir", ".", "the repository's `directory`")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: go run ./internal/cmd/release VERSION -o DIR")
		flags.PrintDefaults()
	}
	args := os.Args[1:]
	version := ""
	// The version may stand before the flags or behind them.
	if i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "v") }); i >= 0 {
		version, args = args[i], slices.Delete(slices.Clone(args), i, i+1)
	}
	flags.Parse(args)
	if version == "" || *out == "" || flags.NArg() > 0 {
		flags.Usage()
		os.Exit(2)
	}
	released, err := release(*dir, version, *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, m := range released {
		fmt.Printf("%s %s\n", m.Path, m.Version)
	}
}
