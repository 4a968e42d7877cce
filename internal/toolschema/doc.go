// Package toolschema makes the JSON Schemas of tools: it derives them from Go types ([FromType])
// and rewrites them for each provider ([Emit]).
//
// A tool declares its schema in plain JSON Schema 2020-12. Each provider supports only a subset of
// that, and refuses requests with other keywords or silently ignores the keywords; see [Dialect].
package toolschema
