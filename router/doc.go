// Package router is where the models are: every way to reach a language model as an [agent.Model].
//
// The backends have packages of their own, so that a program links only what it uses:
//
//   - router/anthropic speaks the Anthropic Messages API.
//   - router/openai speaks the OpenAI chat completions and Responses APIs, and those of compatible servers.
//   - router/langchain takes any langchaingo model in, and gives any model out to langchaingo.
//
// All of them pass the suite of agent/agenttest, each with the exceptions it declares in its [agent.Capabilities].
package router

import _ "github.com/luthier-dev/luthier/agent" // named in the documentation
