// Package grammar restricts the output of a language model to a grammar: JSON that is valid for a
// schema, the tool calls of a chat format, or anything a small grammar language describes.
//
//	v := grammar.NewVocab(tok.Size(), piece, tok.EndOfGeneration()) // once per tokenizer
//	g, err := grammar.CompileSchema(schema, v)                      // a millisecond
//	s := g.Start()
//	s, ok := g.Next(s, token)                                       // false: the token is not allowed
//	g.Mask(s, allowed)                                              // the bit set of the tokens that are
//	draft := g.Forced(s, nil)                                       // tokens that must follow
//
// A state is one int32 that stays valid, so taking back a rejected draft costs nothing: go on from
// the older number. The quickest way to sample is to sample first, ask [Grammar.Next] for that one
// token, and compute a mask only if it is refused. A lazy grammar, which begins at a trigger token,
// is the caller's: generate freely until the trigger, then start.
//
// # Schemas
//
// [CompileSchema] takes JSON Schema: draft 2020-12 and 2019-09, and 7, 6 and 4 when $schema names
// them. What compiles accepts no invalid value. A keyword that cannot be enforced is an
// [UnsupportedError] that names it and its place; nothing is weakened silently. Enforced are
//
//   - type, enum, const, $ref (also recursive), $defs, definitions, $id, $anchor, boolean schemas;
//   - properties in any order, each once; required, additionalProperties, patternProperties,
//     propertyNames, minProperties (above 1 for a closed list of names), maxProperties,
//     dependentRequired, dependentSchemas, dependencies;
//   - items, prefixItems, additionalItems, minItems, maxItems, contains, minContains, maxContains,
//     and uniqueItems where the items come from one short list;
//   - minLength and maxLength in code points, pattern (ECMA-262 without word boundaries, lookbehind
//     and references), and the formats date, time, date-time, duration, email, hostname, ipv4,
//     ipv6, uri, uri-reference, uri-template, iri, uuid, json-pointer, relative-json-pointer and
//     regex; other formats are annotations;
//   - minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf (up to 5000 times the last
//     decimal);
//   - allOf, anyOf, oneOf, not, if/then/else, as an algebra of sets: oneOf is exactly one, not is
//     the complement;
//   - unevaluatedProperties and unevaluatedItems where no other schema applies to the same value.
//
// Integers are written without a fraction and numbers with limits without an exponent; without
// limits, with at most 40 digits before and after the point and an exponent below 300. Any other
// keyword is an annotation, as the specification says.
//
// White space: after any part there may be one blank, or one line break (also CR LF) and up to 96
// blanks or tabs of indentation; no more, so that a model cannot lose itself in blanks.
// [SchemaOptions] asks for a stricter layout, in which more text is forced. Strings may hold any
// escapes; where the text is known (names of a closed list, enum, const) they are written as an
// encoder writes them.
//
// # The grammar language
//
// A grammar is a list of rules, name ::= expression, one of which is root. It reads like GBNF:
//
//	# a comment
//	root   ::= "call " name "(" (arg (", " arg)*)? ")"
//	name   ::= [a-z_] [a-z0-9_]{0,30}      # classes, counts: ? * + {3} {2,5} {2,}
//	arg    ::= "\"" [^"\n]* "\"" | /-?\d+/  # literals with \n \t \" \\ \xHH \uHHHH; patterns as in JSON Schema
//	       | %json {"type": "boolean"}     # JSON valid for a schema
//	       | %until "</arg>"               # text up to and including the first of one or several literals, with commas
//	       | %without "<", ">" "<"         # text that holds none of them
//	       | <|im_start|> | <[151644]>     # one token, by name or number
//
// A dot is any character but a line break. An alternative may begin a line; anything else ends with
// its line unless it stands in parentheses. Rules may be recursive but not on the left: a rule must
// read something before it calls itself. The same things can be put together in Go, without
// escaping, with [Lit], [Seq], [Alt], [Repeat], [Token], [Until], [JSON] and [Compile].
//
// # How it works
//
// Patterns, formats, numbers and lists become deterministic automata over code points: regular
// expressions with intersection and complement by derivatives (Brzozowski 1964; Owens, Reppy and
// Turon 2009), numbers by comparing digits. A lexer spells such an automaton in bytes, with JSON's
// escapes. Around them a pushdown automaton reads structure: a frame is (operation, position,
// memory, parent), frames and sets of frames are hash-consed, and a state is the number of a set.
// An object's frame remembers the names seen as a set of bits, so properties come in any order
// without any explosion.
//
// A mask is the union over the frames of a state. Inside a string of free text the tokens that stay
// inside are one precomputed set; those that close it are sorted by what follows the quote, so that
// only a few hundred short texts are tried. Inside a pattern, tokens are sorted into groups by
// kinds of characters, and a group is allowed at once when the automaton cannot die within its
// longest token. Everything else walks the token trie. The ideas follow the published descriptions
// of Outlines (Willard and Louf 2023), XGrammar (Dong et al. 2024) and llguidance.
//
// # Limits
//
// Compiling is bounded: automata have at most 20,000 states and two million derivatives, schemas
// 300 alternatives for a type and 200,000 combinations; beyond is an error. A Grammar keeps masks
// of up to 32 MiB and about two million states (some 100 bytes each); beyond 131,072 states those
// that exploring a mask makes are forgotten again, and where even that is not enough Next refuses
// and [Grammar.Err] says so. [Grammar.Fork] gives a request states of its own over the same tables.
// JSON may nest 10,000 deep.
//
// What cannot be compiled is an error that names its place:
//
//   - uniqueItems of free items, minProperties above 1 with open names, unevaluated keywords where
//     another schema applies to the same value, $dynamicRef, remote $ref, \b, lookbehind and
//     back-references.
//   - By size: oneOf of many overlapping branches without a required discriminator, and patterns
//     such as (.{1,63}\.){1,127} with lookahead.
//
// Under maxProperties and some negations the grammar is stricter than the schema, never weaker. A
// mask of dozens of simultaneous object branches is slow: a oneOf of 33 objects takes about 1 ms.
package grammar
