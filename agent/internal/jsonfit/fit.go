package jsonfit

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsonrepair"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// Fit returns the JSON in a model's answer that the schema accepts. It removes fences and text
// around the JSON and repairs the syntax if that has a single interpretation. The error says what
// is wrong in words for the model.
//
// A null for a member that may be absent and not null counts as absent, and is removed.
func (s *Schema) Fit(answer string) (json.RawMessage, error) {
	return jsonrepair.Answer(answer, s.fit)
}

// fit checks JSON against the schema.
func (s *Schema) fit(text json.RawMessage) (json.RawMessage, error) {
	if s.root == nil {
		return text, nil
	}
	v, err := jsontree.Parse(text)
	if err != nil {
		return nil, err
	}
	c := checker{work: minWork + workPerByte*len(text)}
	c.check(s.root, v, nil)
	if c.work < 0 && !c.bad() {
		c.fault(nil, tooMuch)
	}
	if c.bad() {
		msg := strings.Join(c.faults, "; ")
		if c.more > 0 {
			msg += fmt.Sprintf("; and %d more", c.more)
		}
		return nil, errors.New(msg)
	}
	if !c.changed {
		return text, nil
	}
	return v.JSON(), nil
}
