package realfix

import (
	"go/token"
	"regexp"
	"strings"
)

// messageCall matches the functions whose arguments are read by people.
var messageCall = regexp.MustCompile(`\b(Errorf|errors\.New|panic|[Ll]og\w*|Printf?|Println|Fatalf?|Warn\w*|Debug\w*|Info\w*)\(`)

var versionNumber = regexp.MustCompile(`^["` + "`" + `]v?\d+\.\d+[.\w-]*["` + "`" + `]$`)

// kindOf distinguishes a change of behaviour from one in a message's text or a version number.
func kindOf(before, after string) string {
	x, y := words(before), words(after)
	if len(x) != len(y) {
		return Behaviour
	}
	for i := range x {
		switch {
		case x[i] == y[i]:
		case x[i].token != token.STRING || y[i].token != token.STRING:
			return Behaviour
		case versionNumber.MatchString(x[i].text) && versionNumber.MatchString(y[i].text):
		case messageCall.MatchString(after), prose(x[i].text) && prose(y[i].text):
		default:
			return Behaviour
		}
	}
	return Message
}

// prose reports whether a string literal seems to be text for people.
func prose(text string) bool {
	return len(strings.Fields(strings.Trim(text, "\"`"))) >= 2
}
