package jsonrepair

// fix is one kind of repair.
type fix uint8

const (
	fixTrailingComma fix = iota
	fixExtraComma
	fixQuotes
	fixBareKey
	fixBareString
	fixLiteral
	fixNumber
	fixSpace
	fixComment
	fixControl
	fixUTF8
	fixEscape
	fixFence
	fixProse
	fixWrapper
	fixTuple
	fixMissingComma
	fixMissingColon
	fixEquals
	fixSemicolon
	fixBraces
	fixEntities
	fixOuterQuotes
	fixExtraClose
	fixMissingClose
	fixWrongClose
	fixDoubledQuotes
	fixOverEscaped
	fixInnerQuotes
	fixMissingQuote
	fixStray
	fixEllipsis
	fixSeveral
	numFixes
)

var fixInfo = [numFixes]struct {
	risk Risk
	text string
}{
	fixTrailingComma: {Low, "removed a comma after the last element"},
	fixExtraComma:    {Low, "removed a comma with nothing before it"},
	fixQuotes:        {Low, "wrote strings in double quotes"},
	fixBareKey:       {Low, "put quotes around keys"},
	fixBareString:    {Medium, "put quotes around text"},
	fixLiteral:       {Low, "wrote true, false and null in JSON's spelling"},
	fixNumber:        {Low, "wrote a number in JSON's form"},
	fixSpace:         {Low, "replaced spaces that JSON does not know"},
	fixComment:       {Low, "removed comments"},
	fixControl:       {Low, "escaped line breaks and control characters inside strings"},
	fixUTF8:          {Low, "replaced bytes that are not UTF-8"},
	fixEscape:        {Low, "kept a backslash that starts no JSON escape"},
	fixFence:         {Low, "removed a Markdown fence"},
	fixProse:         {Medium, "removed text around the JSON"},
	fixWrapper:       {Medium, "removed a call written around a value"},
	fixTuple:         {Low, "read a tuple in parentheses as a list"},
	fixMissingComma:  {Medium, "added a missing comma"},
	fixMissingColon:  {Medium, "added a missing colon"},
	fixEquals:        {Low, "wrote colons behind keys"},
	fixSemicolon:     {Low, "wrote commas between elements"},
	fixBraces:        {Medium, "removed braces around an object"},
	fixEntities:      {Medium, "read HTML entities as the characters they stand for"},
	fixOuterQuotes:   {Low, "removed quotes around the JSON"},
	fixExtraClose:    {Medium, "removed a closing bracket that nothing opened"},
	fixMissingClose:  {Medium, "added a missing closing bracket"},
	fixWrongClose:    {Medium, "replaced a closing bracket of the wrong kind"},
	fixDoubledQuotes: {Medium, "removed doubled quotes"},
	fixOverEscaped:   {Medium, "removed one level of backslash escapes"},
	fixInnerQuotes:   {High, "escaped quotes inside a string"},
	fixMissingQuote:  {High, "added a missing quote"},
	fixStray:         {High, "removed stray text between the elements"},
	fixEllipsis:      {High, "removed an ellipsis"},
	fixSeveral:       {High, "put several values into one list"},
}
