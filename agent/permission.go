package agent

import (
	"context"
	"strconv"
)

// Decision is the outcome of a permission check. Its zero value is [Deny].
type Decision uint8

// The decisions.
const (
	Deny  Decision = iota // refused; the model receives the reason
	Ask                   // the host's callback decides
	Allow                 // runs
)

// String returns "deny", "ask" or "allow".
func (d Decision) String() string {
	switch d {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	}
	return "deny"
}

// MarshalText returns the text of String, or the number of a value that is none of the decisions.
func (d Decision) MarshalText() ([]byte, error) {
	if d > Allow {
		return strconv.AppendUint(nil, uint64(d), 10), nil
	}
	return []byte(d.String()), nil
}

// UnmarshalText reads what MarshalText writes. A text that it does not know is [Deny].
func (d *Decision) UnmarshalText(text []byte) error {
	switch string(text) {
	case "allow":
		*d = Allow
	case "ask":
		*d = Ask
	default:
		n, _ := strconv.ParseUint(string(text), 10, 8)
		if *d = Decision(n); *d <= Allow {
			*d = Deny
		}
	}
	return nil
}

// PermissionRequest is a call that a [Policy] has to decide on.
type PermissionRequest struct {
	Call        ToolCall
	Spec        ToolSpec
	Effects     Effects
	Description CallDescription
	SessionID   string
}

// Verdict is a policy's decision with the rule that made it.
type Verdict struct {
	Decision Decision
	Rule     string // the rule or grant that matched, such as "read-only" or "grant: path src/"
	Reason   string // shown to the model on Deny and to the person on Ask
}

// Policy decides whether a tool call may run. It must be quick and may be called concurrently.
type Policy interface {
	Decide(ctx context.Context, req *PermissionRequest) Verdict
}

// PolicyFunc adapts a function to the [Policy] interface.
type PolicyFunc func(ctx context.Context, req *PermissionRequest) Verdict

// Decide calls f.
func (f PolicyFunc) Decide(ctx context.Context, req *PermissionRequest) Verdict { return f(ctx, req) }

// AskFunc asks a person (or a program in their place) about a call whose verdict is [Ask]. It may
// be slow; it must return when ctx ends.
type AskFunc func(ctx context.Context, req *PermissionRequest, v Verdict) Answer

// Answer is the reply to an [AskFunc]. The zero value refuses.
type Answer struct {
	Allow  bool
	Scope  GrantScope // how far an approval extends
	Prefix string     // with GrantPath: the path prefix granted, relative to the workspace
	Reason string     // with a refusal: the reason for the model
}

// GrantScope is the extent of an approval.
type GrantScope uint8

// The grant scopes.
const (
	GrantOnce  GrantScope = iota // this call only
	GrantExact                   // this exact command (or tool and arguments) for the rest of the session
	GrantPath                    // this tool for paths below a prefix for the rest of the session
)
