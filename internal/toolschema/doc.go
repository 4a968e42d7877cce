// Package toolschema makes the JSON Schemas that tools show to models: from Go types ([FromType]),
// and rewritten for each provider ([Emit]).
//
// The schema a tool declares is plain JSON Schema 2020-12. Each provider takes a subset of it, and
// refuses requests or silently ignores keywords beyond that; see [Dialect].
package toolschema
