package toolformat

import (
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// array matches a list.
func (n *notation) array(root, s *jsontree.Value) *Rule {
	if hasAny(s, "uniqueItems", "contains", "minContains", "maxContains", "prefixItems", "additionalItems", "unevaluatedItems") {
		return nil
	}
	item := n.any()
	if items := s.Get("items"); items != nil {
		if yes, isBool := items.Bool(); items.Kind == jsontree.Array || isBool && !yes {
			return nil
		}
		item = n.rule(root, items)
	}
	return n.list(item, max(length(s, "minItems"), 0), length(s, "maxItems"))
}

// list matches lo to hi items; a negative hi means no limit.
func (n *notation) list(item *Rule, lo, hi int) *Rule {
	const most = 1000
	if lo > most || hi > most || hi >= 0 && hi < lo {
		return nil
	}
	items := seq(item, &Rule{Kind: Repeat, Parts: []*Rule{seq(n.comma, item)}, Min: max(lo-1, 0), Max: max(hi, 0) - 1})
	switch {
	case hi == 0:
		items = seq()
	case lo == 0:
		items = opt(items)
	}
	return seq(lit("["), n.space, items, n.space, lit("]"))
}

// dict matches an object with any keys.
func (n *notation) dict(value *Rule) *Rule {
	entry := seq(n.anyKey, n.colon, value)
	return seq(lit("{"), n.space, opt(seq(entry, many(seq(n.comma, entry)))), n.space, lit("}"))
}

// object matches an object with the keys of a schema. Other keys are possible as JSON only.
func (n *notation) object(root, s *jsontree.Value) *Rule {
	if hasAny(s, "patternProperties", "propertyNames", "minProperties", "maxProperties", "dependencies", "dependentRequired", "dependentSchemas", "unevaluatedProperties") {
		return nil
	}
	props, more := s.Get("properties"), s.Get("additionalProperties")
	if len(undeclared(s)) > 0 {
		return nil
	}
	if props == nil || len(props.Members) == 0 {
		switch {
		case more == nil:
			return n.dict(n.any())
		case more.Kind == jsontree.Object:
			return n.dict(n.rule(root, more))
		}
		if yes, _ := more.Bool(); yes {
			return n.dict(n.any())
		}
		return seq(lit("{"), n.space, lit("}"))
	}
	var args []argument
	for _, m := range props.Members {
		if m.Value.Kind != jsontree.Object && !open(m.Value) {
			return nil
		}
		args = append(args, argument{seq(n.key(m.Key), n.colon, n.rule(root, m.Value)), isRequired(s, m.Key)})
	}
	return seq(lit("{"), n.space, n.b.ordered(args, n.comma, 0), n.space, lit("}"))
}
