package grammar

// Formats are assertions here, as in validators that check formats. The patterns follow the RFCs
// that JSON Schema names; when in doubt, they refuse text that is only sometimes valid. A format
// that is not listed is an annotation.

const (
	fmtDate = `(\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8]))` +
		`|(\d\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)`
	fmtTime    = `([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)`
	fmtLabel   = `[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?`
	fmtHost    = fmtLabel + `(\.` + fmtLabel + `)*`
	fmtOctet   = `(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`
	fmtIPv4    = fmtOctet + `(\.` + fmtOctet + `){3}`
	fmtH16     = `[0-9A-Fa-f]{1,4}`
	fmtIPv6    = `((` + fmtH16 + `:){6}(` + fmtH16 + `:` + fmtH16 + `|` + fmtIPv4 + `)|::(` + fmtH16 + `:){5}` + fmtLS32 + `|(` + fmtH16 + `)?::(` + fmtH16 + `:){4}` + fmtLS32 + `|((` + fmtH16 + `:){0,1}` + fmtH16 + `)?::(` + fmtH16 + `:){3}` + fmtLS32 + `|((` + fmtH16 + `:){0,2}` + fmtH16 + `)?::(` + fmtH16 + `:){2}` + fmtLS32 + `|((` + fmtH16 + `:){0,3}` + fmtH16 + `)?::` + fmtH16 + `:` + fmtLS32 + `|((` + fmtH16 + `:){0,4}` + fmtH16 + `)?::` + fmtLS32 + `|((` + fmtH16 + `:){0,5}` + fmtH16 + `)?::` + fmtH16 + `|((` + fmtH16 + `:){0,6}` + fmtH16 + `)?::)`
	fmtLS32    = `(` + fmtH16 + `:` + fmtH16 + `|` + fmtIPv4 + `)`
	fmtPct     = `%[0-9A-Fa-f]{2}`
	fmtPchar   = `([A-Za-z0-9._~!$&'()*+,;=:@-]|` + fmtPct + `)`
	fmtReg     = `[A-Za-z0-9._~!$&'()*+,;=-]*` // without escapes, on which validators disagree
	fmtUser    = `(([A-Za-z0-9._~!$&'()*+,;=:-]|` + fmtPct + `)*@)?`
	fmtAuth    = fmtUser + `(\[` + fmtIPv6 + `\]|` + fmtReg + `)(:\d{0,5})?`
	fmtTail    = `(\?(` + fmtPchar + `|[/?])*)?(#(` + fmtPchar + `|[/?])*)?`
	fmtAbEmpty = `(/` + fmtPchar + `*)*`
	fmtAbs     = `/(` + fmtPchar + `+(/` + fmtPchar + `*)*)?`
	fmtURI     = `[A-Za-z][A-Za-z0-9+.-]*:(//` + fmtAuth + fmtAbEmpty + `|` + fmtAbs + `|` + fmtPchar + `+(/` + fmtPchar + `*)*|)` + fmtTail
	fmtNoColon = `([A-Za-z0-9._~!$&'()*+,;=@-]|` + fmtPct + `)`
	fmtRel     = `(//` + fmtAuth + fmtAbEmpty + `|` + fmtAbs + `|` + fmtNoColon + `+(/` + fmtPchar + `*)*|)` + fmtTail
	fmtAtext   = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
	fmtPointer = `(/([^~/]|~[01])*)*`
	// fmtRegex matches the subset of regular expressions on which validators agree: literals,
	// escapes, classes and groups up to three deep, with quantifiers.
	fmtRegexChar = `([^\\\[\](){}*+?|^$]|\\[dDwWsStnrfv.\\/\[\](){}*+?|^$-]|\[\^?([^\\\[\]^-]|\\[dDwWsStnrfv.\\/\[\]-])(([^\\\[\]-]|\\[dDwWsStnrfv.\\/\[\]-])*|([A-Y]-Z|[a-y]-z|[0-8]-9|-)*)*\])`
	fmtQuant     = `([*+?]|\{\d\}|\{\d,\})?`
	fmtRegex0    = `(\^?(` + fmtRegexChar + fmtQuant + `)*\$?)`
	fmtRegex1    = `(\^?(` + fmtRegexChar + fmtQuant + `|\((\?:)?` + fmtRegex0 + `(\|` + fmtRegex0 + `)*\)` + fmtQuant + `)*\$?)`
)

// formatPatterns returns the patterns whose intersection defines a format. It returns nil for an
// annotation.
func formatPatterns(name string) []string {
	switch name {
	case "date":
		return []string{fmtDate}
	case "time":
		return []string{fmtTime}
	case "date-time":
		return []string{fmtDate + `[Tt]` + fmtTime}
	case "duration":
		return []string{`P(\d+W|(\d+Y(\d+M(\d+D)?)?|\d+M(\d+D)?|\d+D)(T(\d+H(\d+M(\d+S)?)?|\d+M(\d+S)?|\d+S))?|T(\d+H(\d+M(\d+S)?)?|\d+M(\d+S)?|\d+S))`}
	case "email", "idn-email":
		return []string{fmtAtext + `+(\.` + fmtAtext + `+)*@` + fmtHost, `.{1,64}@.*`}
	case "hostname", "idn-hostname":
		return []string{fmtHost}
	case "ipv4":
		return []string{fmtIPv4}
	case "ipv6":
		return []string{fmtIPv6}
	case "uri", "iri":
		return []string{fmtURI}
	case "uri-reference", "iri-reference":
		return []string{`(` + fmtURI + `|` + fmtRel + `)`}
	case "uri-template":
		return []string{`([A-Za-z][A-Za-z0-9+.-]*:(//)?)?([A-Za-z0-9._~!$&()*+,;=@/?-]|\{[+#./;?&]?[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*(\*|:[1-9]\d{0,3})?(,[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*(\*|:[1-9]\d{0,3})?)*\})*`}
	case "uuid":
		return []string{`[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}`}
	case "json-pointer":
		return []string{fmtPointer}
	case "relative-json-pointer":
		return []string{`(0|[1-9]\d*)(#|` + fmtPointer + `)`}
	case "regex":
		return []string{fmtRegex1}
	}
	return nil
}

func formatLang(name string) *lang {
	pats := formatPatterns(name)
	if pats == nil {
		return nil
	}
	l := &lang{key: "format " + name}
	switch name {
	case "email", "idn-email":
		l.max = 254
	case "hostname", "idn-hostname":
		l.max = 253
	}
	for _, p := range pats {
		l.and = append(l.and, &lang{key: "whole " + p, pattern: "^(?:" + p + ")$"})
	}
	return l
}
