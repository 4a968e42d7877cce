// Package pins keeps dependencies in go.mod while their users are being written.
package pins

import (
	_ "github.com/anthropics/anthropic-sdk-go"
	_ "github.com/go-git/go-git/v5"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/invopop/jsonschema"
	_ "github.com/openai/openai-go/v3"
	_ "github.com/openai/openai-go/v3/responses"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/tmc/langchaingo/llms"
	_ "github.com/tmc/langchaingo/llms/anthropic"
	_ "github.com/tmc/langchaingo/llms/openai"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "golang.org/x/text/unicode/norm"
	_ "golang.org/x/tools/go/packages"
	_ "golang.org/x/tools/txtar"
	_ "mvdan.cc/sh/v3/syntax"
)
