// Package edit changes text in the ways that language models ask for: replace this text by that, or
// apply this patch.
//
// A model quotes the text it wants to change from memory. Now and then it gets the white space
// wrong, straightens a quote, copies the line numbers of a listing, or quotes a file that has
// changed since. This package makes such an edit if it can mean one thing only. Otherwise it
// refuses the edit with an [*Error] that shows the model what is there instead and what to do next.
// It never picks one of several places, and it never guesses what a slip was meant to be: a refused
// edit costs one more turn, a wrong one costs the trust in all the others.
//
// The package works on text in memory and does no input or output. Writing files, with their modes
// and atomically, is for the caller.
//
// # Which function to use
//
//   - [Replace] for one edit of one file: the old text and the new text. Give it Base, the text
//     that the model was shown, whenever the host knows it.
//   - [ApplyPatch] for changes of several files at once, in the "*** Begin Patch" format: all of
//     them or none. [ParsePatch] reports beforehand which files that would touch.
//   - [Merge] for a file that is written as a whole although it changed since it was read.
//   - [CheckSyntax] afterwards, to report to the model that its edit left a file that does not
//     parse.
//
// # The ladder
//
// Replace looks for the old text step by step. The first step that finds it decides: if it finds
// one place, the edit is made there (with All, at every place); if it finds several, the edit is
// refused as [Ambiguous] with the line of each, and no weaker step is tried to get rid of the
// ambiguity. [Result].Strategy names the step.
//
//   - "exact": the text as it is. Line endings do not matter: a file with CRLF keeps them.
//   - "blank-borders": without the blank lines that both texts begin or end with.
//   - "trailing-space", "punctuation", "indentation", "indentation+punctuation": as a run of whole
//     lines that are equal except for white space at their ends; except for typographic quotes,
//     dashes and spaces as well; except for indentation; except for both.
//   - "line-numbers+…": after the line numbers before every line are removed, one of the steps
//     above.
//   - "unescaped+…": after backslash escapes are undone (\" or \n, or a whole round of them), one
//     of the steps above; the same after HTML entities are undone, if the file has none.
//   - "agreed": the old text is off by a few letters in one line, the new text has that very line
//     as the file has it, and nothing else in the file comes near. The old text of that line then
//     makes no difference to the result.
//   - "merged+…": with Base, when the file is not Base any more: the old text was found in Base by
//     one of the steps above, and the edit was merged into today's file.
//
// Lines that old and new text share are kept as they are in the file, byte for byte. If the step
// ignored indentation, the new text decides how its other lines are indented. Either it has the
// slip of the old text: then the model's indentation must differ from the file's in the same way on
// all matched lines (more, less, tabs for spaces), and that difference is applied to the new lines.
// Or it has the indentation of the file: then it is written as it is. The same holds for an exact
// match whose first line lacks indentation. If both can be meant, or if the indentation of a new
// line is unclear, the edit is refused as [Indentation]. It is also refused if
// the file has another place with the exact indentation of the old text and half of its lines:
// somebody has changed that place, and the match is a block that happens to be similar.
//
// The new text is always literal; nothing like $1 is expanded. Byte order mark, line endings (also
// CR alone) and a missing final newline stay as they are in the file, whatever the texts use.
// Typographic characters of the file stay in words that the edit leaves alone, and only there. A
// new text with HTML entities for markup is refused if the old text and the file have none, unless
// the edit does nothing but escape.
//
// # Limits
//
//   - Twins: without Base, an old text whose block is gone from the file while one other block
//     equals it except for indentation looks like an edit of that other block. It is made unless
//     something else in the file speaks against it: 17 of 179 such cases in a long search, or 6 in
//     100,000 of the cases that must be refused. A host that gives Base is safe from this.
//   - Base must be the whole text of the file, not the part that was shown.
//   - Unicode folding works on whole lines only: an old text that is part of a line with
//     typographic quotes is refused.
//   - Elisions (...) are always refused, never expanded.
//   - An old text may lack exactly the indentation by which the edit moves its first and last
//     lines. Then the new text looks as if it lacked that too, and is indented wrongly: about 1 in
//     10,000 edits with wrong indentation.
//   - [CheckSyntax] needs a check by the host for languages other than Go and JSON.
//   - An old text whose first line lost its indentation and that has other slips is refused in
//     about one of seven cases.
//
// # Terms
//
//   - ladder: the steps above, in order.
//   - reading: one of two ways to understand the indentation of a new text, like the old text
//     (relative) or like the file (absolute).
//   - slip: a small mistake of the model in the text that it quotes.
//   - rival: another place of the file that speaks against a match, because it has the exact
//     indentation of the old text and half of its lines.
//   - twin: a block that equals the old text except for indentation, while the block that was meant
//     is gone.
package edit
