package argcheck

import (
	"fmt"
)

// DefaultFaults lists the defaults that their own schema does not accept.
func (c *Checker) DefaultFaults() []string {
	var out []string
	for _, loc := range sortedKeys(c.byLoc) {
		s := c.byLoc[loc]
		for _, key := range c.keys(s) {
			p := s.Properties[key]
			if p.Default == nil {
				continue
			}
			if err := p.Validate(*p.Default); err != nil {
				out = append(out, fmt.Sprintf("%s: %s does not fit its own schema", key, anyJSON(*p.Default)))
			}
		}
	}
	return out
}
