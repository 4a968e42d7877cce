package toolformat

import "strings"

// fallback is what a model is assumed to write when its template says nothing
// about calls: the tools are described to it in this format.
const fallback = "hermes-json"

// Detect returns the format that a chat template speaks. Each format has rules
// of texts that its templates contain; the rule that holds with most text wins.
// A template without tool calls gets hermes-json, which [Template.Render] then
// describes to the model.
func Detect(template string) *Format {
	f, _ := detect(template)
	return f
}

// detect also returns how much text of the template spoke for the format.
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

// ruleWeight returns the length of a rule's needles if the template contains all
// of them, else 0.
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
