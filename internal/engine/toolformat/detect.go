package toolformat

import "strings"

// fallback is the format assumed for a model whose template does not mention calls: the tools are
// described to the model in this format.
const fallback = "hermes-json"

// Detect returns the format that a chat template uses. Each format has rules that list texts
// contained in its templates. Of the rules whose texts all occur, the one with the most text wins.
// A template without tool calls gets hermes-json, which [Template.Render] then describes to the
// model.
func Detect(template string) *Format {
	f, _ := detect(template)
	return f
}

// detect also returns how many bytes of the template matched the rule.
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
// else 0.
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
