// Package corpus collects the source code that the one-line-repair model learns from: it selects
// open-source Go modules by licence, their functions, and the functions that are never trained on.
//
// The modules are listed in manifest.json, pinned by version and checksum, and downloaded through
// the Go module proxy. A module is either trained on or held out for evaluation, by repository and,
// with two named exceptions, by owner. Functions for training that nearly repeat a held-out
// function are dropped, regardless of their author (see [Near]).
//
// To add a module, list it in manifest.json with its version, the sum that `go mod download -json`
// prints, and the licence; [Download] refuses a licence that [Classify] does not find in its files.
// Modules named in ../realfix/modules.txt are held out. A module that was held out once stays held
// out; otherwise measurements of older and newer models could not be compared.
//
// From the functions, [Writer] makes the first training examples: the functions are broken with one
// to three slips of package mutate and shown as package repair shows them, and the answers are the
// edits that repair them.
//
// # Limits
//
//   - The standard library is that of the running toolchain; the manifest expects go1.26. cmd is
//     not used, and functions with a line of more than 250 bytes are left out.
//   - Without type information, only the slips that need none are made. The set of slips is then
//     not closed under inversion.
package corpus
