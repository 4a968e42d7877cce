// Package corpus collects the source code that the one-line-repair model learns from: which
// open-source Go modules, under which licences, which of their functions, and which of those are
// never trained on.
//
// The modules are listed in manifest.json, pinned by version and checksum and reached through the
// Go module proxy. A module is either trained on or held out for evaluation, by repository and, but
// for two named exceptions, by owner. Functions of the training side that nearly repeat a held-out
// function are dropped, whoever wrote them (see [Near]).
//
// To add a module, list it in manifest.json with its version, the sum that `go mod download -json`
// prints, and the licence; [Download] refuses a licence that [Classify] does not find in its files.
// Modules named in ../realfix/modules.txt are held out. What was held out once stays so: numbers of
// models trained before would mean nothing beside later ones.
//
// From the functions, [Writer] makes the first training examples: broken with one to three slips of
// package mutate, shown as package repair shows them, with the edits that mend them as answers.
package corpus
