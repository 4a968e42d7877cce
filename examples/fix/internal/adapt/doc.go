// Package adapt trains a repair model on the module that it is about to repair: it breaks a few
// hundred functions, one line each, and for some seconds the model learns to repair them (test-time
// training, arXiv:1909.13231). The model learns names and habits of the module that no earlier
// training could know; docs/benchmarks.md shows the gain.
//
//	learned, err := adapt.Learn(ctx, adapt.Config{Model: weights, Module: "example.com/m", Root: dir, Package: "."})
//	if err != nil { … } // the original model still works
//	model, err := moe.LoadBytes("adapted", learned.Model, moe.Config{})
//
// Nothing is run and nothing in the module is written. Functions that may hold the fault must not
// be learned as if they were right: Config.Without leaves them out.
package adapt
