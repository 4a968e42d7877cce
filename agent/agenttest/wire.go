package agenttest

import (
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// WireEvent is one abstract event that a scenario's server sends. A [Wire] turns it into a
// provider's bytes; the server itself handles [WireCut], [WireReset], [WireStall] and [WireWait],
// which a Wire never sees.
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
	// and type to be sent again with it, if the format allows that.
	WireCallArgs struct {
		Index  int
		Args   string
		Repeat bool
	}
	// WireOpaque is a part of a provider-specific kind for which the contract has no type. It must
	// hold Marker as a JSON string somewhere inside.
	WireOpaque struct{ Marker string }
	// WireUsage holds the token counts as the contract counts them. It comes before WireFinish; a
	// format that reports them elsewhere must hold them back or look ahead (see
	// [WireRequest.Reply]).
	WireUsage struct{ Usage agent.Usage }
	// WireFinish ends the response, with whatever the format sends after the reason.
	WireFinish struct{ Reason agent.FinishReason }
	// WireEmpty is everything the format can send without content: comments, pings, empty choices,
	// empty deltas.
	WireEmpty struct{}
	// WireGarbage is an event whose data is not JSON.
	WireGarbage struct{}
	// WireFailure is the format's error object in the middle of a stream.
	WireFailure struct{ Failure Failure }

	// WireCut ends the response body properly but too early, as a proxy does that gave up.
	WireCut struct{}
	// WireReset breaks the connection.
	WireReset struct{}
	// WireStall sends nothing more until the client disconnects.
	WireStall struct{}
	// WireWait sends nothing for a while.
	WireWait struct{ For time.Duration }
)

// Failure describes an error as a provider would.
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

// Reply is a scenario server's answer to one request.
type Reply struct {
	Status  int               // HTTP status; 0 means 200
	Header  map[string]string // more response headers, such as Retry-After
	Failure Failure           // the error body, if Status is not 200
	HTML    bool              // send a proxy's HTML page instead of the provider's error body
	Padding int               // bytes of junk after the error body
	Events  []WireEvent       // the stream, if Status is 200
	Dribble int               // write the stream in pieces of so many bytes; 0 writes one event at a time

	Must    []string // texts that the request body must contain in its JSON strings; otherwise the server refuses it
	MustNot []string // texts that it must not contain
}

// Wire writes the events of one response in a provider's format.
type Wire interface {
	// Event returns the bytes to send for ev, possibly none.
	Event(ev WireEvent) string
	// Error returns the body of a response whose status is not 200.
	Error(status int, f Failure) (contentType, body string)
}

// WireChecker is a [Wire] that also checks the request. If it returns an error, the server answers
// with status 400 and the scenario fails.
type WireChecker interface {
	Check(r *WireRequest) error
}
