package toolformat

import "strings"

// fallback is the format assumed for a model whose template does not mention calls: the tools are
// described to the model in this format.
const fallback = "hermes-json"

// Detect returns the format that a chat template uses. Each format has rules, which are lists of
// texts contained in its templates. Of the rules whose texts all occur in the template, the one
// with the most text is selected. For a template without tool calls the result is hermes-json,
// which [Template.Render] then describes to the model.
func Detect(template string) *Format {
	f, _ := detect(template)
	return f
}

// detect also returns the number of bytes of the template that matched the rule.
func detect(template string) (*Format, int) {
	best, weight := Lookup(fallback), 0
	for _, f := range formats {
		for _, rule := range f.Templates {
			if w := ruleWeight(template, rule); w > weight {
				best, weight = f, w
			}
		}
	}
	return best, weight
}

// ruleWeight returns the total length of a rule's needles if the template contains all of them,
// otherwise 0.
func ruleWeight(template string, rule []string) int {
	n := 0
	for _, needle := range rule {
		if !strings.Contains(template, needle) {
			return 0
		}
		n += len(needle)
	}
	return n
}
