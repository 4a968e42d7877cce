package edit_test

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/luthier-dev/luthier/tools/edit"
)

const server = `package main

func main() {
	if err := serve(":8080"); err != nil {
		log.Fatal(err)
	}
}
`

// A model writes four spaces where the file has a tab: the edit is made, and the file keeps its
// tabs.
func ExampleReplace() {
	res, err := edit.Replace(server, edit.Replacement{
		Old: "    if err := serve(\":8080\"); err != nil {",
		New: "    addr := os.Getenv(\"ADDR\")\n    if err := serve(addr); err != nil {",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Strategy)
	fmt.Print(res.Content)
	// Output:
	// indentation
	// package main
	//
	// func main() {
	// 	addr := os.Getenv("ADDR")
	// 	if err := serve(addr); err != nil {
	// 		log.Fatal(err)
	// 	}
	// }
}

// An edit of a file that the user has changed meanwhile keeps both changes, if Replace receives the
// text that the model was shown.
func ExampleReplace_base() {
	shown := "timeout = 10\nretries = 3\nverbose = false\n"
	today := "timeout = 60\nretries = 3\nverbose = false\n"
	res, err := edit.Replace(today, edit.Replacement{
		Old:  "timeout = 10\nretries = 3\n",
		New:  "timeout = 10\nretries = 5\n",
		Base: shown,
	})
	fmt.Print(res.Content, res.Strategy, " ", err)
	// Output:
	// timeout = 60
	// retries = 5
	// verbose = false
	// merged+exact <nil>
}

// A text that occurs in the file more than once is refused: the engine never chooses a place
// itself.
func ExampleError() {
	_, err := edit.Replace("a = 1\nb = 2\na = 1\n", edit.Replacement{Old: "a = 1", New: "a = 2"})
	fmt.Println(err)

	var e *edit.Error
	if errors.As(err, &e) {
		fmt.Println(e.Kind, e.Lines)
	}
	// Output:
	// edit: replace: ambiguous: the old text is in the file 2 times: lines 1, 3
	// Add lines before or after to the old text until it is unique, or ask for all places to be replaced
	// ambiguous [1 3]
}

// A text that is not in the file is refused with the nearest text and the first difference.
func ExampleError_notFound() {
	_, err := edit.Replace(server, edit.Replacement{Old: "func main() {\n\tif err := serve(\":9090\"); err != nil {", New: "…"})
	fmt.Println(err)
	// Output:
	// edit: replace: not found: the old text is not in the file
	// nearest text: lines 3-4; first difference at line 4 (· is a space, → a tab)
	//   file: →if·err·:=·serve(":8080");·err·!=·nil·{
	//   old:  →if·err·:=·serve(":9090");·err·!=·nil·{
	// Read that part of the file again and copy the old text from it exactly
}

func ExampleApplyPatch() {
	files := map[string]string{"main.go": server}
	read := func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}
	changes, err := edit.ApplyPatch(read, `*** Begin Patch
*** Update File: main.go
*** Move to: cmd/server/main.go
@@ func main() {
-	if err := serve(":8080"); err != nil {
+	if err := serve(":9090"); err != nil {
 		log.Fatal(err)
*** Add File: README.md
+Run it with go run ./cmd/server.
*** End Patch
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range changes {
		fmt.Printf("-- %s (from %q, added %t) --\n%s", c.Path, c.MovedFrom, c.Added, c.Content)
	}
	// Output:
	// -- cmd/server/main.go (from "main.go", added false) --
	// package main
	//
	// func main() {
	// 	if err := serve(":9090"); err != nil {
	// 		log.Fatal(err)
	// 	}
	// }
	// -- README.md (from "", added true) --
	// Run it with go run ./cmd/server.
}

func ExampleMerge() {
	read := "one\ntwo\nthree\n"
	now := "one\ntwo\nTHREE\n"     // the user's change
	written := "ONE\ntwo\nthree\n" // the model's
	text, err := edit.Merge(read, now, written)
	fmt.Print(text, err)
	// Output:
	// ONE
	// two
	// THREE
	// <nil>
}

func ExampleCheckSyntax() {
	before := "package p\n\nfunc f() {}\n"
	fmt.Println(edit.CheckSyntax("p.go", before, "package p\n\nfunc f() {\n"))
	// Output:
	// p.go no longer parses after this edit: line 3: expected '}', found 'EOF'
}
