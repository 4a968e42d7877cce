package agenttest

import (
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// WireEvent is one abstract thing that a scenario's server sends. A [Wire] turns it into a
// provider's bytes; the server itself handles [WireCut], [WireReset], [WireStall] and [WireWait],
// which no Wire ever sees.
type WireEvent interface{ wireEvent() }

type (
	// WireStart opens every successful response, before any other event.
	WireStart struct{}
	// WireText is a piece of the answer.
	WireText struct{ Text string }
	// WireThinking is a piece of reasoning. A piece with a Signature or Redacted data closes its
	// reasoning part; one with Redacted data has nothing else.
	WireThinking struct {
		Text      string
		Signature string
		Redacted  []byte
	}
	// WireCallStart opens the tool call with that Index (from 0 in a response).
	WireCallStart struct {
		Index    int
		ID, Name string
	}
	// WireCallArgs is a piece of the arguments' JSON text of an open call. Repeat asks for id, name
	// and type to be sent once more beside it, where the format has room for that.
	WireCallArgs struct {
		Index  int
		Args   string
		Repeat bool
	}
	// WireOpaque is a part of the provider's own kind that the contract has no type for. It must
	// hold Marker as a JSON string somewhere inside.
	WireOpaque struct{ Marker string }
	// WireUsage gives the token counts as the contract counts them. It comes before WireFinish; a
	// format that reports them elsewhere holds or looks ahead (see [WireRequest.Reply]).
	WireUsage struct{ Usage agent.Usage }
	// WireFinish ends the response, with whatever the format sends after the reason.
	WireFinish struct{ Reason agent.FinishReason }
	// WireEmpty is everything the format can send that carries nothing: comments, pings, empty
	// choices, empty deltas.
	WireEmpty struct{}
	// WireGarbage is an event whose data is not JSON.
	WireGarbage struct{}
	// WireFailure is the format's error object in the middle of a stream.
	WireFailure struct{ Failure Failure }

	// WireCut ends the response body in good order, as a proxy does that gave up.
	WireCut struct{}
	// WireReset breaks the connection.
	WireReset struct{}
	// WireStall sends nothing more until the client goes away.
	WireStall struct{}
	// WireWait sends nothing for a while.
	WireWait struct{ For time.Duration }
)

// Failure is an error as a provider describes it.
type Failure struct {
	Code    string // one of the Failure codes below; a Wire maps it to the provider's own code or type
	Message string
}

// The codes of a [Failure].
const (
	FailContextLength = "context_length" // the prompt is too long
	FailAuth          = "auth"           // wrong key
	FailRateLimit     = "rate_limit"     // too many requests
	FailOverloaded    = "overloaded"     // out of capacity
	FailServer        = "server"         // an internal error
	FailInvalid       = "invalid"        // a malformed request
	FailNotFound      = "not_found"      // no such model
)

func (WireStart) wireEvent()     {}
func (WireText) wireEvent()      {}
func (WireThinking) wireEvent()  {}
func (WireCallStart) wireEvent() {}
func (WireCallArgs) wireEvent()  {}
func (WireOpaque) wireEvent()    {}
func (WireUsage) wireEvent()     {}
func (WireFinish) wireEvent()    {}
func (WireEmpty) wireEvent()     {}
func (WireGarbage) wireEvent()   {}
func (WireFailure) wireEvent()   {}
func (WireCut) wireEvent()       {}
func (WireReset) wireEvent()     {}
func (WireStall) wireEvent()     {}
func (WireWait) wireEvent()      {}

// Reply is what a scenario's server answers to one request.
type Reply struct {
	Status  int               // HTTP status; 0 means 200
	Header  map[string]string // more response headers, such as Retry-After
	Failure Failure           // the error body, when Status is not 200
	HTML    bool              // send an HTML page of a proxy instead of the provider's error body
	Padding int               // bytes of junk after the error body
	Events  []WireEvent       // the stream, when Status is 200
	Dribble int               // write the stream in pieces of so many bytes; 0 writes an event at a time

	Must    []string // texts that the request body must hold inside its JSON strings, else the server refuses it
	MustNot []string // texts that it must not hold
}

// Wire writes the events of one response in a provider's format.
type Wire interface {
	// Event returns the bytes to send for ev; none is fine.
	Event(ev WireEvent) string
	// Error returns the body of a response whose status is not 200.
	Error(status int, f Failure) (contentType, body string)
}

// WireChecker is a [Wire] that also looks at the request. A fault it finds is answered with status
// 400 and fails the scenario.
type WireChecker interface {
	Check(r *WireRequest) error
}
