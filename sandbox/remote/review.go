package remote

import (
	"io/fs"

	"github.com/luthier-dev/luthier/sandbox"
)

// wireReview encodes a sandbox.Review.
type wireReview struct {
	Changes  []wireChange  `json:"changes"`
	Findings []wireFinding `json:"findings"`
}

// wireChange encodes a sandbox.Change.
type wireChange struct {
	Path text               `json:"path"`
	Kind sandbox.ChangeKind `json:"kind"`
	Mode fs.FileMode        `json:"mode"`
}

func changesToWire(list []sandbox.Change) []wireChange {
	out := make([]wireChange, len(list))
	for i, c := range list {
		out[i] = wireChange{text(c.Path), c.Kind, c.Mode}
	}
	return out
}

func changesFromWire(list []wireChange) []sandbox.Change {
	out := make([]sandbox.Change, len(list))
	for i, c := range list {
		out[i] = sandbox.Change{Path: string(c.Path), Kind: c.Kind, Mode: c.Mode}
	}
	return out
}

type wireFinding struct {
	Path   text         `json:"path"`
	Rule   sandbox.Rule `json:"rule"`
	Refuse bool         `json:"refuse"`
	Why    string       `json:"why"`
}

func reviewToWire(r *sandbox.Review) *wireReview {
	if r == nil {
		return nil
	}
	w := &wireReview{Changes: changesToWire(r.Changes)}
	for _, f := range r.Findings {
		// A severity that is not known to be harmless counts as refused.
		w.Findings = append(w.Findings, wireFinding{text(f.Path), f.Rule, f.Severity != sandbox.Notice, f.Why})
	}
	return w
}

// review returns the review from the client's point of view. An absolute link into the workspace
// leads to a path on the server, which is a different place on this machine.
func (w *wireReview) review() *sandbox.Review {
	if w == nil {
		return &sandbox.Review{}
	}
	r := &sandbox.Review{Changes: changesFromWire(w.Changes)}
	for _, f := range w.Findings {
		out := sandbox.Finding{Path: string(f.Path), Rule: f.Rule, Severity: sandbox.Notice, Why: f.Why}
		if f.Refuse {
			out.Severity = sandbox.Refuse
		} else if f.Rule == sandbox.RuleLinkEscape {
			out.Severity, out.Why = sandbox.Refuse, "is absolute and names the workspace's place on the server; here it leads elsewhere"
		}
		r.Findings = append(r.Findings, out)
	}
	return r
}

// refusal returns the error for findings that are not allowed, or nil.
func refusal(r *sandbox.Review, allow func(sandbox.Finding) bool) error {
	var out []sandbox.Finding
	for _, f := range r.Refused() {
		if allow == nil || !allow(f) {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return &sandbox.ReviewError{Findings: out}
}
