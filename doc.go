// Package luthier wires a complete coding agent: a model, the coding tools over a directory, a
// sandbox for the programs it runs, permissions, checkpoints to undo its changes, and a session
// that survives a kill.
//
//	func main() {
//		sandbox.Init() // first line of main: programs run in a copy of this one
//		model, err := openai.New(openai.Config{Model: "gpt-5"})
//		...
//		a, err := luthier.New(ctx, ".", luthier.Options{Model: model, Autonomy: agent.AutonomySandboxed})
//		...
//		defer a.Close()
//		s, err := a.NewSession()
//		...
//		res, err := a.Run(ctx, s, agent.Text{Text: "Make the tests pass."}).Collect()
//	}
//
// Everything it wires is a package of its own, which you can use alone or replace:
//
//   - agent: the contract and the loop
//   - tools: typed tools and their registry; tools/edit: the edit engine; tools/coding: the
//     built-in coding tools
//   - router/openai, router/anthropic, router/langchain: model backends
//   - router/moe: GGUF models in this process; router/moe/embedded: a small one that repairs one
//     line of Go; router/serve: any model behind an OpenAI-compatible endpoint
//   - sandbox: isolated processes
//   - retrieval: search in a large tree; retrieval/embed: embedding models; retrieval/treesitter:
//     grammars
//   - agent/checkpoint: undo for a workspace
//   - agent/agenttest: scripted models, recorded streams, fault injection and the conformance suite
package luthier
