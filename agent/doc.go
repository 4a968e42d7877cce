// Package agent is the contract between a language model, the tools it calls and the program that
// hosts both, and the loop that drives them: a model decides the next action, the loop runs the
// tools, collects their results, and asks again until the model is done or a limit is reached.
//
// The contract is small. A [Model] streams [Chunk] values for a [Request]; a [Tool] has a
// [ToolSpec] and a Call method; a [Session] is an append-only log of [Message] values; an [Agent]
// runs a model and tools over a session and yields [Event] values:
//
//	a, err := agent.New(agent.Config{Model: model, Tools: []agent.Tool{add}})
//	if err != nil { ... }
//	for ev, err := range a.Run(ctx, agent.NewSession(), agent.Text{Text: "What is 2 + 3?"}) {
//		if err != nil { ... }
//		if d, ok := ev.(agent.TextDelta); ok {
//			fmt.Print(d.Text)
//		}
//	}
//
// The package imports no other package of this library, starts no goroutine that outlives a run,
// keeps no package state, and logs nothing except to the [log/slog.Logger] of the [Config].
//
// # What is guaranteed
//
//   - A stream that ends without [Finish] is an error, never a short answer. An answer without text
//     and without calls never counts as done.
//   - A failing, unknown, panicking or refused tool call is a result the model reads, never the end
//     of the run. Truncated arguments are never executed. Every call gets exactly one result, in
//     call order.
//   - Calls whose declared effects do not conflict run in parallel and start while the model still
//     streams.
//   - Breaking out of the event loop cancels the run and waits for its tools; no goroutine is left.
//   - Every run has limits and ends with a [Result] that says why it stopped.
//   - A session entry is written and flushed before it is acted on; a killed process resumes from
//     what was written.
//
// # Limits
//
//   - While a model is silent inside its stream, events of running tools wait for the next chunk:
//     the loop runs on the consumer's goroutine and cannot yield.
//   - A panic of Model.Stream, Config.Verify or the Compactor reaches the caller of the run, after
//     the history was settled.
//   - An undo restores the workspace before it writes its entry. A kill between the two loses the
//     redo point, not the undo.
//   - Agent.Explain reports Ask if Config.Ask is nil, where the run would refuse. It does not
//     consult middleware.
//   - A tool that ignores its time limit is left behind and may still write while later calls run.
//     The model gets a note.
//   - If Config.ToolSource changes the tools of a session, the next request begins with other
//     bytes, and the prompt cache misses once.
//
// # Terms
//
//   - batch: the calls of one response.
//   - rung: a step of the answer to repeated calls: remind, warn, stop. See [Repetition].
//   - mailbox: the queue that carries a run's events from its calls to the caller.
//   - account: what a run and its sub-agents have spent, compared with the limits.
//   - mode: what forbids changes: plan mode, or a sub-agent whose tool declares only reads.
package agent
