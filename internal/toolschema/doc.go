// Package toolschema makes the JSON Schemas that tools show to models: from Go types ([FromType]),
// and rewritten for what each provider takes ([Emit]).
//
// The schema a tool declares is plain JSON Schema 2020-12. Providers take subsets of it, and refuse
// requests, or silently ignore keywords, beyond them; see [Dialect] for each.
package toolschema
