package toolformat

// Syntax is the way a format writes the arguments of a call.
type Syntax uint8

// The argument syntaxes.
const (
	// Object is one JSON object that contains the name, the arguments and perhaps an id: {"name":
	// "f", "arguments": {"x": 1}}. Several of them may be in a list.
	Object Syntax = iota
	// JSON is a JSON object of arguments that follows the name.
	JSON
	// Params is one marked element for each argument: <parameter=x>1</parameter>.
	Params
	// Python is a list of Python calls: [f(x=1), g(y="z")].
	Python
	// Loose is an object with bare keys and the string marker of the format, after the name:
	// f{x:1,y:<|"|>z<|"|>}.
	Loose
)

// Wrap is a pair of markers around a section or a call.
type Wrap struct {
	Open  string
	Close string // "" if nothing marks the end
}

// Think describes how a format marks reasoning.
type Think struct {
	Open  []string
	Close []string

	// Words is the part of an opening marker that belongs to the reasoning itself.
	Words string

	// Anywhere reports whether reasoning may also begin in the middle of the answer. If it is
	// false, an opening marker is recognised only if nothing but white space precedes it.
	Anywhere bool

	// CallEnds reports whether a call ends reasoning that was not closed. If it is false, a call
	// inside reasoning is part of the reasoning and is not made.
	CallEnds bool

	// UnlessClosed reports whether a call ends reasoning only if no closing marker follows in the
	// text. If one follows, the call is part of the reasoning.
	UnlessClosed bool

	// Ends lists further markers that end reasoning; they are read separately.
	Ends []string
}

// Head describes the text between the opening marker of a call and its arguments. The text up to
// End, or up to one of Peek, is split at Cut: the name is before it, attributes after it.
type Head struct {
	End  []string // the first one found ends the head and is consumed
	Peek []string // ends the head but is not consumed
	Cut  string

	Prefix string // removed from the front of the name
	Index  string // removed from the end of the name, with the text after it ("f:0")
	IsID   bool   // the whole text is the id of the call
	CutID  bool   // the text after Cut is the id
	Answer string // a call with this name is not a call but the answer itself
}

// Param describes one argument of the Params syntax. The text between Open and End is split at Cut:
// the key is before it, attributes after it.
type Param struct {
	Open  string
	End   string
	Cut   string
	Close string // $ stands for the key

	// Lines reports whether a value is on separate lines: one line break after the opening marker
	// and one before the closing marker are not part of it.
	Lines bool

	// IsString marks the value as a string if it is found in the attributes. Other attributes mark
	// it as JSON.
	IsString string

	// Attr is the attribute of values that are not strings; $ stands for their type.
	Attr string

	// CDATA reports whether a value that contains markup is enclosed in <![CDATA[ and ]]>.
	CDATA bool

	// Nested, if not "", is the opening of a tag. A value that begins with it is an object, or a
	// list if its tags are all named item.
	Nested string
}

// Channels describes formats in which every part of a message has a header with the name of its
// recipient: start, header, message, text, end.
type Channels struct {
	Start   string
	Channel string
	Message string
	End     []string

	Thinking string   // the channel of reasoning
	Self     string   // the recipient of reasoning
	To       string   // precedes the recipient in a header
	Users    []string // recipients of answers; any other recipient is a function to call
	Prefix   string   // removed from the front of a recipient

	// Headers as models write them after Start, up to Message. In ToCall, $ represents the name,
	// and calls are written with the first of its headers. Next is written between messages.
	Answer, Thought string
	Preamble        string // of text before calls, for the user
	ToCall          []string
	Next            string
}

// Bare specifies the places at which calls may appear without any marker.
type Bare uint8

// The places of bare calls.
const (
	Never    Bare = iota
	Whole         // calls are the whole message
	Anywhere      // anywhere in the text
)

// Layout is the text that models write between the markers, and that the parser ignores.
// Grammars allow it, and calls in a conversation are written with it.
type Layout struct {
	Begin   string // before the reasoning in front of calls
	Lead    string // after the opening marker of a section
	Tail    string // before the closing marker of a section
	List    bool   // calls are in a list
	Sep     string // between calls
	One     bool   // a section holds one call; Sep is between sections
	Attrs   string // attributes after a name; # stands for the call's number from 1
	Key     string // between an argument's key and the marker before its value
	Args    string // before the arguments, or before the first argument of Params
	ArgsEnd string // after the arguments, or after each argument of Params
	CallEnd string // after the closing marker of a call

	Name, Arguments, ID string // the keys of an Object; an empty ID means there is no such key
	IDFirst             bool
	IDs                 string // pattern of the ids
}

// Format describes how models of one family write reasoning and tool calls.
type Format struct {
	Name string

	// Templates lists rules that recognise the format's chat templates. A rule matches if the
	// template contains all its needles; the rule with the longest needles wins.
	Templates [][]string

	Think Think

	// Stops lists texts that end a message, in addition to what the template writes there.
	Stops []string

	// Drop lists markers that are removed from the answer, such as roles and ends of turns.
	Drop []string

	// Sections enclose all calls of a message, and Calls enclose each call. Calls may appear
	// outside a section only if LooseCalls is true, and only calls of known functions.
	Sections   []Wrap
	Calls      []Wrap
	LooseCalls bool

	// Junk lists markers that are ignored between calls.
	Junk []string

	Syntax Syntax
	Head   Head
	Param  Param

	// NameIsKey reports whether an Object has a single key, the name, whose value is the arguments:
	// {"f": {"x": 1}}.
	NameIsKey bool

	// Quote marks strings of the Loose syntax.
	Quote string

	// Code is the name of the argument for code that is written in place of a JSON object of
	// arguments.
	Code string

	// Fence reports whether arguments are in a Markdown fence.
	Fence bool

	Bare     Bare
	Channels *Channels
	Layout   Layout

	// Remarks reports whether models write text after their calls, such as what they wait for.
	Remarks bool

	// TextAfter reports whether text after a call is still part of the answer.
	TextAfter bool
}
