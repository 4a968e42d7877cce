package compaction_test

import (
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/compaction"
)

// A CI log: installs, passing tests, and somewhere among them the failure that matters.
func ExampleDigest() {
	log := strings.Repeat("Downloading module 12/40 …\nok  \texample.com/shop/tax\t0.2s\n", 400) +
		"--- FAIL: TestTotal (0.00s)\n    cart_test.go:17: Total() = 41, want 42\nFAIL\nFAIL\texample.com/shop/cart\t0.004s\n" +
		strings.Repeat("ok  \texample.com/shop/mail\t0.1s\n", 400)
	d := compaction.Digest(compaction.ToolOutput{Text: log, ExitCode: 1}, 120)
	fmt.Print(d.Text)
	for _, f := range d.Facts {
		if f.Kind == compaction.FactTest {
			fmt.Println("line", f.Line, "of the log:", f.Text)
		}
	}
	// Output:
	// exit code 1
	// FAIL	example.com/shop/cart	0.004s
	// failed:
	// TestTotal
	//     cart_test.go:17: Total() = 41, want 42
	// line 801 of the log: TestTotal
}
