// Package corpus collects the source code that the one-line-repair model learns from: which
// open-source Go modules, under which licences, which of their functions, and which of those are
// never trained on.
//
// The modules are listed in manifest.json, pinned by version and checksum and reached through the
// Go module proxy. A module is either trained on or held out for evaluation, by repository and,
// with two named exceptions, by owner. Functions of the training side that nearly repeat a held-out
// function are dropped, whoever wrote them (see [Near]).
//
// To add a module, list it in manifest.json with its version, the sum that `go mod download -json`
// prints, and the licence; [Download] refuses a licence that [Classify] does not find in its files.
// Modules named in ../realfix/modules.txt are held out. A module that was held out once stays held
// out; otherwise figures of older and newer models could not be compared.
//
// From the functions, [Writer] makes the first training examples: broken with one to three slips of
// package mutate, shown as package repair shows them, with the edits that repair them as answers.
//
// # Limits
//
//   - The standard library is that of the toolchain that runs; the manifest expects go1.26. cmd is
//     not used, and functions with a line of more than 250 bytes are left out.
//   - Without type information only the safe slips are made, and the set is then not closed under
//     inversion.
package corpus
