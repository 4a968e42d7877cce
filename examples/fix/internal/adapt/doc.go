// Package adapt trains a repair model on the module that it is about to repair: it breaks one line
// in each of a few hundred functions, and trains the model for some seconds to repair them
// (test-time training, arXiv:1909.13231). In this way the model learns names and habits of the
// module that the original training could not cover; docs/benchmarks.md shows the gain.
//
//	learned, err := adapt.Learn(ctx, adapt.Config{Model: weights, Module: "example.com/m", Root: dir, Package: "."})
//	if err != nil { … } // the original model still works
//	model, err := moe.LoadBytes("adapted", learned.Model, moe.Config{})
//
// The module's code is not run, and none of its files is written. Functions that may contain the
// fault must not be learned as if they were right; Config.Without excludes them.
package adapt
