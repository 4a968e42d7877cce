// Package adapt teaches a repair model the module that it is about to repair: a few hundred
// functions of it are broken, one line each, and for some seconds the model learns to mend them
// (test-time training, arXiv:1909.13231). Names and habits of a module that no training could know
// are what it is for; docs/benchmarks.md tells what it has gained.
//
//	learnt, err := adapt.Learn(ctx, adapt.Config{Model: weights, Module: "example.com/m", Root: dir, Package: "."})
//	if err != nil { … } // the model as it was serves as well
//	model, err := moe.LoadBytes("adapted", learnt.Model, moe.Config{})
//
// Nothing is run and nothing in the module is written. Functions that may hold the fault are not to
// be learnt as if they were right: Config.Without leaves them out.
package adapt
