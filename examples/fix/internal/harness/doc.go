// Package harness lets a model repair a Go package one line at a time: it gives an agent the three
// tools run_tests, read_function and edit_line over a [Case], keeps the account of what was tried,
// and decodes each of the model's decisions as the likeliest that was not made before. The command
// in the directory above, its evaluation and training go through the same code; they differ in the
// Case alone.
//
// The model decides everything: which function to read, which line to change and into what, when to
// look elsewhere. The harness refuses edits that change nothing, do not parse, do not compile or
// were tried, and undoes those that do not help.
package harness
