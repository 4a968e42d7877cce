// Package agenttest tests agents and the models behind them, without a network.
//
//   - [Script] is a model that replays scripted turns and remembers what it was asked.
//   - [Inject] and [InjectTool] put seeded faults in front of any model or tool.
//   - [Conformance] is the suite every [agent.Model] of this library passes; [NewServer] serves its
//     scenarios in a provider's wire format, so that a backend's own test needs an encoder and
//     three lines. [Reference] is a model to run the suite on routers and other models made of
//     models.
//   - [Record] and [Replay] keep what a live model said in a cassette file; [RecordTransport] and
//     [NewReplayServer] do the same for the bytes on the wire.
//   - [AssertPrefix] checks that a conversation's requests extend each other, which keeps prompt
//     caches warm.
//   - [CheckLeaks] fails a test that leaves goroutines behind.
package agenttest
