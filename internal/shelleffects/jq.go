package shelleffects

import "regexp"

var jqWords = regexp.MustCompile(`\b(env|ENV|import|include|modulemeta|input_filename|get_search_list|\$__prog_args)\b`)

// jq analyses a jq command whose filter neither reads the environment nor loads modules.
func jq(c *call) outcome {
	var args []string
	for i := 0; i < len(c.args); i++ {
		if (c.args[i] == "--arg" || c.args[i] == "--argjson") && i+2 < len(c.args) {
			if c.placeable(c.args[i+1 : i+3]) {
				i += 2
				continue
			}
		}
		args = append(args, c.args[i])
	}
	r := table()["jq"]
	p := &parsed{used: map[string]string{}}
	if !c.split(r, args, p) {
		return stay(c.st)
	}
	c.operands(r, p)
	if len(p.operands) > 0 && (!static(p.operands[0]) || jqWords.MatchString(p.operands[0])) {
		c.w.fx.unknown("a jq filter may read the environment or load modules")
	}
	return stay(c.st)
}
