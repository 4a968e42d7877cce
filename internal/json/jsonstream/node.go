package jsonstream

import (
	"encoding/json"
	"strings"
)

// Kind is the type of a [Node].
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Node is a value, complete or still growing.
type Node struct {
	Kind    Kind
	Done    bool     // complete
	Members []Member // of an object, in order of arrival
	Items   []*Node  // of an array
	text    strings.Builder
}

// Member is one key of an object with its value.
type Member struct {
	Key   string
	Value *Node
}

// Text returns the decoded string, or the text of a number or literal, up to the last byte read. It
// costs nothing: the text is shared, not copied.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	return n.text.String()
}

// Get returns the value of key in an object, or nil. If the key is repeated, the last one counts.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for i := len(n.Members) - 1; i >= 0; i-- {
		if n.Members[i].Key == key {
			return n.Members[i].Value
		}
	}
	return nil
}

// Item returns element i of an array, or nil.
func (n *Node) Item(i int) *Node {
	if n == nil || i < 0 || i >= len(n.Items) {
		return nil
	}
	return n.Items[i]
}

func (n *Node) value() any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case Bool:
		return n.Text() == "true"
	case Number:
		return json.Number(n.Text())
	case String:
		return n.Text()
	case Array:
		out := make([]any, len(n.Items))
		for i, x := range n.Items {
			out[i] = x.value()
		}
		return out
	case Object:
		out := make(map[string]any, len(n.Members))
		for _, m := range n.Members {
			out[m.Key] = m.Value.value()
		}
		return out
	}
	return nil
}
