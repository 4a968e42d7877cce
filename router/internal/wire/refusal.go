package wire

import (
	"regexp"
	"strconv"
	"strings"
)

// Demand says which form of the history a server asks for.
type Demand uint8

// The demands.
const (
	DemandNone        Demand = iota
	DemandReasoning          // reasoning must come with the messages of the assistant
	DemandNoReasoning        // reasoning, or what signed it, is not accepted
	DemandTurns              // user and assistant must take turns
	DemandShortID            // ids of calls are too long, or have other characters than allowed
	DemandSignature          // calls need the signature of Gemini
)

// What refusals say, in lower case. They are read only to choose another form of the same history:
// a refusal that none of them fits stays the error that it is.
var (
	aboutTurns     = regexp.MustCompile(`alternat|roles? must|after role|consecutive (user|assistant)|conversation roles|same role`)
	aboutID        = regexp.MustCompile(`call[_ ]?id|tool[_ ]?use[_.` + "`" + ` ]*id|tool[_ ]?call[^.]{0,12}\.?id\b|\.id\b|\bid was\b`)
	aboutLength    = regexp.MustCompile(`length|long|character|pattern|must be a-z|letters|alphanumeric`)
	aboutReasoning = regexp.MustCompile(`reasoning[_ ]?(content|details|item)?|thinking|encrypted[_ ]content`)
	aboutSettings  = regexp.MustCompile(`reasoning[_. ]effort|budget[_ ]tokens|thinking[._]type|thinking[._]budget|enable[_ ]thinking|max[_ ]tokens`)
	refuses        = regexp.MustCompile(`must not|cannot (be|contain|include)|should not|unsupported|not supported|n't supported|not permitted|not allowed|forbidden|unknown|unrecogni[sz]ed|unexpected|extra (field|input)|additional propert|\binvalid\b|not (be )?verified|could not be|does not (accept|support|match)|not accept`)
	wants          = regexp.MustCompile(`missing|required|must (be|start|begin|have|include|contain|provide|come)|passed back|pass(ed)? (it )?back|expected|(is|be|are) empty|needs? `)
	smallNumber    = regexp.MustCompile(`\b\d{1,3}\b`)
)

// Demanded reads the message of a refusal.
func Demanded(message string) Demand {
	s := strings.ToLower(message)
	switch {
	case strings.Contains(s, "thought_signature") || strings.Contains(s, "thought signature"):
		if wants.MatchString(s) {
			return DemandSignature
		}
	case aboutTurns.MatchString(s):
		return DemandTurns
	case aboutReasoning.MatchString(s) && !aboutSettings.MatchString(s):
		switch {
		case strings.Contains(s, "signature"):
			return DemandNoReasoning
		case strings.Contains(s, "missing"), strings.Contains(s, "is required"), strings.Contains(s, "passed back"),
			strings.Contains(s, "cannot be empty"), strings.Contains(s, "expected") && strings.Contains(s, "found"):
			return DemandReasoning
		case refuses.MatchString(s):
			return DemandNoReasoning
		case wants.MatchString(s):
			return DemandReasoning
		}
	case aboutID.MatchString(s) && aboutLength.MatchString(s):
		return DemandShortID
	}
	return DemandNone
}

// DemandedID returns the rule for ids that the message of a refusal states, or one that every known
// server takes.
func DemandedID(message string) IDRule {
	s := strings.ToLower(message)
	n := 0
	for _, word := range smallNumber.FindAllString(s, -1) {
		if v, err := strconv.Atoi(word); err == nil && v >= 9 && v <= 64 && (n == 0 || v < n) {
			n = v
		}
	}
	if n == 9 {
		return IDRule{Exact: 9}
	}
	if n < 16 {
		return IDRule{Exact: 9}
	}
	return IDRule{Max: n}
}
