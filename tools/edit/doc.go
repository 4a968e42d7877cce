// Package edit changes text the way language models ask for it: replace this text by that, or apply
// this patch.
//
// A model quotes the text it wants to change from memory. Now and then it gets the white space
// wrong, straightens a quote, copies the line numbers of a listing, or quotes a file that has
// changed since. This package makes such an edit when there is one thing only that it can mean, and
// otherwise refuses it with an [*Error] that tells the model what is there instead and what to do
// next. It never picks one of several places, and it never guesses what a slip was meant to be: an
// edit that was refused costs one more turn, a wrong one costs the trust in all the others.
//
// The package works on text in memory and does no input or output. Writing files, with their modes
// and atomically, is for the caller.
//
// # Which function to use
//
//   - [Replace] for one edit of one file: the old text and the new text. Give it Base, the text
//     that the model was shown, whenever the host knows it.
//   - [ApplyPatch] for changes of several files at once, in the "*** Begin Patch" format: all of
//     them or none. [ParsePatch] tells beforehand which files that would touch.
//   - [Merge] for a file that is written as a whole although it changed since it was read.
//   - [CheckSyntax] afterwards, to tell the model that its edit left a file that does not parse.
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
//     lines that are equal but for white space at their ends; but for typographic quotes, dashes
//     and spaces as well; but for indentation; but for both.
//   - "line-numbers+…": after the line numbers before every line are removed, one of the steps
//     above.
//   - "unescaped+…": after backslash escapes are undone (\" or \n, or a whole round of them), one
//     of the steps above.
//   - "agreed": the old text is off by a few letters in one line, the new text has that very line
//     as the file has it, and nothing else in the file comes near. What the old text says there
//     then makes no difference to the result.
//   - "merged+…": with Base, when the file is not Base any more: the old text was found in Base by
//     one of the steps above, and the edit was merged into today's file.
//
// Lines that old and new text share are kept as they are in the file, byte for byte. Where
// indentation was overlooked, the other lines of the new text are indented as the file is: the way
// in which the model's indentation differs from the file's has to be the same on all matched lines
// (more, less, tabs for spaces), and is then applied to the new ones. Where it is not, or where the
// indentation of a new line cannot be told, the edit is refused as [Indentation]. It is refused,
// too, when the file has another place with the very indentation of the old text and half of its
// lines: somebody has changed that place, and the match is of a block that happens to be alike.
//
// The new text is always literal; nothing like $1 is expanded. Byte order mark, line endings and a
// missing final newline stay as they are in the file.
//
// # What cannot be told apart
//
// Without Base, an old text whose block is gone from the file while one other block equals it but
// for the indentation looks like an edit of that other block with the wrong indentation. It is made
// unless something else in the file speaks against it. A host that gives Base is safe from this.
package edit
