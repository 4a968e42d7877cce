package toolformat

// Syntax is how a format writes the arguments of a call.
type Syntax uint8

// The argument syntaxes.
const (
	// Object is one JSON object that holds name, arguments and perhaps an id:
	// {"name": "f", "arguments": {"x": 1}}. Several may stand in a list.
	Object Syntax = iota
	// JSON is a JSON object of arguments after the name.
	JSON
	// Params are one marked element for each argument: <parameter=x>1</parameter>.
	Params
	// Python is a list of Python calls: [f(x=1), g(y="z")].
	Python
	// Loose is an object with bare keys and a string mark of its own, after the
	// name: f{x:1,y:<|"|>z<|"|>}.
	Loose
)

// Wrap is a pair of markers around a section or a call.
type Wrap struct {
	Open  string
	Close string // "" when nothing marks the end
}

// Think describes how a format marks reasoning.
type Think struct {
	Open  []string
	Close []string

	// Words are the part of an opening marker that is reasoning itself.
	Words string

	// Anywhere says that reasoning may also begin in the middle of the answer;
	// otherwise an opening marker counts only where nothing but space came before.
	Anywhere bool

	// CallEnds says that a call ends reasoning that was not closed. Where it is
	// false, a call inside reasoning is only thought about.
	CallEnds bool

	// UnlessClosed says that a call ends reasoning only when the text ends without a
	// closing marker; otherwise it is only thought about.
	UnlessClosed bool

	// Ends are further markers that end reasoning; they are read on their own.
	Ends []string
}

// Head describes the text between the opening marker of a call and its
// arguments. The text up to End, or to one of Peek, is cut at Cut: the name stands
// before, attributes after.
type Head struct {
	End  []string // the first found ends the head and is consumed
	Peek []string // ends the head and is left to be read
	Cut  string

	Prefix string // dropped from the front of the name
	Index  string // with what follows, dropped from the end of the name ("f:0")
	IsID   bool   // the whole text is the id of the call
	CutID  bool   // what follows Cut is the id
	Answer string // this name stands for no call, but for the answer itself
}

// Param describes one argument of the Params syntax. The text between Open and
// End is cut at Cut: the key stands before, attributes after.
type Param struct {
	Open  string
	End   string
	Cut   string
	Close string // $ stands for the key

	// Lines says that a value stands on lines of its own: one line break after
	// the opening and one before the closing marker are not part of it.
	Lines bool

	// IsString, found in the attributes, makes the value a string. Other
	// attributes make it JSON.
	IsString string

	// Attr is the attribute of values that are not strings; $ stands for their
	// type.
	Attr string

	// CDATA says that a value with markup in it stands in <![CDATA[ and ]]>.
	CDATA bool

	// Nested, if not "", opens a tag; a value that begins with it is an object,
	// or a list when its tags are all called item.
	Nested string
}

// Channels describe formats in which every piece of a message has a header that
// says to whom it goes: start, header, message, text, end.
type Channels struct {
	Start   string
	Channel string
	Message string
	End     []string

	Thinking string   // the channel of reasoning
	Self     string   // the recipient of reasoning
	To       string   // what stands before the recipient in a header
	Users    []string // recipients of answers; other recipients are called
	Prefix   string   // dropped from the front of a recipient

	// Headers as models write them after Start, up to Message. In ToCall $ stands
	// for the name; the first is the one that calls are written with. Next stands
	// between messages.
	Answer, Thought string
	ToCall          []string
	Next            string
}

// Bare says where calls may stand without any marker.
type Bare uint8

// The places of bare calls.
const (
	Never    Bare = iota
	Whole         // they are all that the message holds
	Anywhere      // anywhere in the text
)

// Layout is what models write between the markers, where the parser does not care.
// Grammars allow it, and calls in a conversation are written with it.
type Layout struct {
	Begin   string // before the reasoning in front of calls
	Lead    string // after the opening marker of a section
	Tail    string // before its closing marker
	List    bool   // calls stand in a list
	Sep     string // between calls
	One     bool   // a section holds one call; Sep stands between sections
	Attrs   string // attributes after a name; # stands for the call's number from 1
	Key     string // between the key and the value of an argument, before the latter's marker
	Args    string // before the arguments, or before the first argument of Params
	ArgsEnd string // after the arguments, or after each argument of Params
	CallEnd string // after the closing marker of a call

	Name, Arguments, ID string // the keys of an Object; no ID, no key
	IDFirst             bool
	IDs                 string // pattern of the ids
}

// Format describes how models of one family write reasoning and tool calls.
type Format struct {
	Name string

	// Templates are rules to know the format's chat templates by. A rule holds
	// when the template contains all its needles; the rule with the longest
	// needles wins.
	Templates [][]string

	Think Think

	// Stops are texts that end a message, beside what the template writes there.
	Stops []string

	// Drop are markers in the answer that carry no text, such as roles and ends
	// of turns.
	Drop []string

	// Sections go around all calls of a message, Calls around each. Calls may
	// stand outside a section only when LooseCalls is set; then the function
	// must be a known one.
	Sections   []Wrap
	Calls      []Wrap
	LooseCalls bool

	// Junk are markers between calls that carry no text.
	Junk []string

	Syntax Syntax
	Head   Head
	Param  Param

	// NameIsKey says that an Object has one key, the name, with the arguments:
	// {"f": {"x": 1}}.
	NameIsKey bool

	// Quote marks strings of the Loose syntax.
	Quote string

	// Code is the argument that code is given to where a JSON object of arguments
	// should stand but does not.
	Code string

	// Fence says that arguments stand in a Markdown fence.
	Fence bool

	Bare     Bare
	Channels *Channels
	Layout   Layout

	// TextAfter says that text after a call still belongs to the answer.
	TextAfter bool
}
