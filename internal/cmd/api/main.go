// Command api compares the exported API of this repository's packages with that of the last release
// and fails if a program that compiles with the release may no longer do so:
//
//	go run ./internal/cmd/api [-v]
//
// An incompatible change is accepted if the Unreleased section of CHANGELOG.md names it in
// backquotes, as the report prints it: `Config.Dir` or `agent.Config.Dir`. The release to compare
// with is in the file named released in this directory: a version and its commit. A shallow clone
// must have that commit (git fetch --unshallow).
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"strings"
)

//go:embed released
var released string

func main() {
	verbose := flag.Bool("v", false, "print compatible changes too")
	dir := flag.String("dir", ".", "the repository's `directory`")
	flag.Parse()
	version, commit, ok := strings.Cut(strings.TrimSpace(released), " ")
	if !ok {
		fmt.Fprintln(os.Stderr, "api: internal/cmd/api/released: want a version and a commit")
		os.Exit(1)
	}
	r, err := compare(*dir, commit)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if *verbose {
		for _, c := range r.compatible {
			fmt.Println("compatible:", c)
		}
	}
	for _, c := range r.broken {
		fmt.Println("incompatible with", version+":", c)
	}
	if len(r.broken) > 0 {
		fmt.Println("Keep what programs use, or name the change in CHANGELOG.md under Unreleased.")
		os.Exit(1)
	}
	fmt.Printf("compatible with %s: %d packages, %d additions, %d announced changes\n", version, r.packages, len(r.compatible), r.announced)
}
