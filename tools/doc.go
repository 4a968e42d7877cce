// Package tools turns Go functions into tools that a language model can call, and keeps them in a [Registry].
//
//	type in struct {
//		A int `json:"a" jsonschema:"description=first number"`
//		B int `json:"b" jsonschema:"description=second number"`
//	}
//	add, err := tools.New("add", "Adds two numbers.", func(ctx context.Context, in in) (int, error) {
//		return in.A + in.B, nil
//	})
package tools
