package jinja

import (
	"fmt"
	"testing"
)

// conversation returns an agent's conversation of n messages: every third message calls a tool, and
// every third is a result.
func conversation(n int) *Dict {
	messages := NewList(NewDict().Set("role", Str("system")).Set("content", Str("You are a coding agent.")))
	for i := 1; i < n; i++ {
		m := NewDict()
		switch i % 3 {
		case 1:
			m.Set("role", Str("user")).Set("content", Str("Please look at file "+fmt.Sprint(i)))
		case 2:
			args := NewDict().Set("path", Str("src/main.go")).Set("line", Int(i))
			call := NewDict().Set("type", Str("function")).Set("function", NewDict().Set("name", Str("read")).Set("arguments", args))
			m.Set("role", Str("assistant")).Set("content", Str("")).Set("tool_calls", NewList(call))
		default:
			m.Set("role", Str("tool")).Set("content", Str("package main\n\nfunc main() {}\n"))
		}
		messages.Items = append(messages.Items, m)
	}
	prop := NewDict().Set("path", NewDict().Set("type", Str("string")).Set("description", Str("the file")))
	fn := NewDict().Set("name", Str("read")).Set("description", Str("reads a file")).Set("parameters", NewDict().Set("type", Str("object")).Set("properties", prop))
	tools := NewList(NewDict().Set("type", Str("function")).Set("function", fn))
	return NewDict().Set("messages", messages).Set("tools", tools).Set("add_generation_prompt", Bool(true))
}

func BenchmarkRender(b *testing.B) {
	vars := conversation(50)
	for _, name := range []string{"Qwen3-Coder", "Qwen-Qwen3-0.6B", "openai-gpt-oss-120b"} {
		b.Run(name, func(b *testing.B) {
			tmpl := parseFile(b, name)
			b.ReportAllocs()
			for b.Loop() {
				out, err := tmpl.Render(vars, Options{Now: testClock})
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(out)))
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	src := readFile(b, "Qwen3-Coder")
	b.ReportAllocs()
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if _, err := Parse(src); err != nil {
			b.Fatal(err)
		}
	}
}
