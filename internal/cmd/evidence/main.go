// Command evidence writes docs/evidence.md and a page for each subject in docs/evidence: the claims
// about Luthier with the tests that check them.
//
// A test that checks a claim has this line in its doc comment:
//
//	// Evidence: SUBJECT · CLAIM
//
// SUBJECT is one word and names the page. Tests with the same line share an entry. A test may have
// several lines.
//
// Usage, in the root of the repository:
//
//	go run ./internal/cmd/evidence          # write the pages
//	go run ./internal/cmd/evidence -check   # fail if a page is out of date
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail if a page differs from what would be written")
	flag.Parse()
	if err := run(".", *check); err != nil {
		fmt.Fprintln(os.Stderr, "evidence:", err)
		os.Exit(1)
	}
}

// run writes or checks the pages of the repository in dir.
func run(dir string, check bool) error {
	lines, err := collect(os.DirFS(dir))
	if err != nil {
		return err
	}
	if check {
		return compare(dir, pages(lines))
	}
	return write(dir, pages(lines))
}
