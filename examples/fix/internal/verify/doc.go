// Package verify runs a package's own tests on broken versions of its functions, thousands per
// minute.
//
// Every broken version (a variant) of a package is compiled into one test binary: a variant is a
// copy of its function under another name with one line replaced, and the function itself begins
// with a switch that calls the copy selected by an environment variable. This is the mutant schema
// of Untch, Offutt and Harrold, "Mutation analysis using mutant schemata" (ISSTA 1993). Starting
// such a binary takes milliseconds, whereas building it takes seconds.
//
//	p, err := verify.Load(ctx, cfg, dir)             // parse and type-check
//	bin, err := verify.Build(ctx, cfg, p, variants)  // one instrumented test binary
//	err = bin.Baseline(ctx)                          // which tests pass, how long they take, what they reach
//	out, err := bin.Run(ctx, 3)                      // which tests fail with variant 3, what they print, what they cover
//
// Output and coverage of tests are reported as if the variant had been written into its file: names
// of copies and line numbers are mapped back.
//
// Variants are untrusted: a variant may, for example, delete files instead of reading them, or
// never end. They run through an Executor. Plain is only for trusted code; all other code belongs
// in a sandbox.
//
// # Limits
//
//   - Tests run with -short; tests slower than 1.5 s are not used. No tasks are made from variants
//     that hang.
//   - If os.Exit or log.Fatal ends a run, the test that was running counts as failed, as with go
//     test -json.
package verify
