// Package grammar restricts the output of a language model to a grammar: JSON that is valid for a
// schema, the tool calls of a chat format, or any text described in a small grammar language.
//
//	v := grammar.NewVocab(tok.Size(), piece, tok.EndOfGeneration()) // once per tokenizer
//	g, err := grammar.CompileSchema(schema, v)                      // a millisecond
//	s := g.Start()
//	s, ok := g.Next(s, token)                                       // false: the token is not allowed
//	g.Mask(s, allowed)                                              // the bit set of the allowed tokens
//	draft := g.Forced(s, nil)                                       // tokens that must follow
//
// A state is one int32 that stays valid, so taking back a rejected draft costs nothing: continue
// from the older number. The fastest way to sample is to sample first, check that one token with
// [Grammar.Next], and compute a mask only if the token is refused. Lazy grammars, which begin at a
// trigger token, are left to the caller: generate freely until the trigger, and start the grammar
// then.
//
// # Schemas
//
// [CompileSchema] accepts JSON Schema: drafts 2020-12 and 2019-09, and drafts 7, 6 and 4 if $schema
// names them. A compiled grammar accepts no invalid value. A keyword that cannot be enforced
// results in an [UnsupportedError] with its name and path; nothing is weakened silently. These
// keywords are enforced:
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
//   - allOf, anyOf, oneOf, not, if/then/else, as operations on sets: oneOf is exactly one, not is
//     the complement;
//   - unevaluatedProperties and unevaluatedItems where no other schema applies to the same value.
//
// Integers are written without a fraction. Numbers with limits are written without an exponent;
// numbers without limits have at most 40 digits before and after the point and an exponent below
// 300. Any other keyword is an annotation, as in the specification.
//
// White space is limited: any part may be followed by one blank, or by one line break (also CR LF)
// and up to 96 blanks or tabs of indentation, so that a model cannot write blanks without end.
// [SchemaOptions] selects a stricter layout, in which more text is forced. Strings may contain any
// escapes, except that known texts (names in a closed list, enum, const) are spelled as an encoder
// would write them.
//
// # The grammar language
//
// A grammar is a list of rules, name ::= expression, one of which is root. Its syntax resembles
// GBNF:
//
//	# a comment
//	root   ::= "call " name "(" (arg (", " arg)*)? ")"
//	name   ::= [a-z_] [a-z0-9_]{0,30}      # classes, counts: ? * + {3} {2,5} {2,}
//	arg    ::= "\"" [^"\n]* "\"" | /-?\d+/  # literals with \n \t \" \\ \xHH \uHHHH; patterns as in JSON Schema
//	       | %json {"type": "boolean"}     # JSON valid for a schema
//	       | %until "</arg>"               # text up to and including the first of one or several literals, with commas
//	       | %without "<", ">" "<"         # text that contains none of them
//	       | <|im_start|> | <[151644]>     # one token, by name or number
//
// A dot is any character except a line break. A line may begin with an alternative; otherwise an
// expression ends with its line unless it is in parentheses. Rules may be recursive but not
// left-recursive: a rule must read something before it calls itself. Grammars can also be built in
// Go, without escaping, with [Lit], [Seq], [Alt], [Repeat], [Set], [Limited], [Token], [Until],
// [JSON] and [Compile].
//
// # How it works
//
// Patterns, formats, numbers and lists become deterministic automata over code points: regular
// expressions with intersection and complement by derivatives (Brzozowski 1964; Owens, Reppy and
// Turon 2009), numbers and numbers by comparing digits. A lexer converts such an automaton to
// bytes, including JSON's escapes. Around the lexers, a pushdown automaton reads the structure: a
// frame is (operation, position, memory, parent), frames and sets of frames are hash-consed, and a
// state is the number of a set. An object's frame remembers the names read so far as a set of bits,
// so that properties may come in any order without an explosion of states.
//
// A mask is the union over the frames of a state. Inside a string of free text, the tokens that
// stay inside are one precomputed set; those that close the string are sorted by the text after the
// quote, so that only a few hundred short texts are tried. Inside a pattern, tokens are sorted into
// groups by kinds of characters, and a whole group is allowed at once if the automaton cannot die
// within the group's longest token. In all other cases, the token trie is walked. The ideas follow
// the published descriptions of Outlines (Willard and Louf 2023), XGrammar (Dong et al. 2024) and
// llguidance.
//
// # Limits
//
// Compiling is bounded: automata have at most 20,000 states and two million derivatives, and
// schemas at most 300 alternatives for a type and 200,000 combinations; more is an error. A Grammar
// keeps up to 32 MiB of masks and about two million states (some 100 bytes each). Beyond 131,072
// states, the states that are created while a mask is computed are discarded again; if even that is
// not enough, Next refuses tokens and [Grammar.Err] returns an error. [Grammar.Fork] creates
// separate states for a request, over the same tables. JSON may be nested up to 10,000 levels deep.
//
// These cannot be compiled, and result in an error with the path:
//
//   - uniqueItems if the items are not from a short list, minProperties above 1 with open names,
//     unevaluated keywords where another schema applies to the same value, $dynamicRef, remote
//     $ref, \b, lookbehind and back-references.
//   - Because of their size: oneOf with many overlapping branches without a required discriminator,
//     and patterns such as (.{1,63}\.){1,127} with lookahead.
//
// With maxProperties and some negations, the grammar is stricter than the schema, never weaker. A
// mask for dozens of simultaneous object branches is slow: a oneOf of 33 objects takes about 1 ms.
package grammar
