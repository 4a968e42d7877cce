// Package router makes models of models: it chooses, balances, checks and limits members that are
// [agent.Model] values. The packages below it reach a model.
//
// The backends have packages of their own, so that a program links only what it uses:
//
//   - router/anthropic speaks the Anthropic Messages API.
//   - router/openai speaks the OpenAI chat completions and Responses APIs, and those of compatible
//     servers.
//   - router/langchain takes any langchaingo model in, and gives any model out to langchaingo.
//   - router/moe runs a model in this process.
//
// All of them pass the suite of agent/agenttest, each with the exceptions it declares in its
// [agent.Capabilities].
//
// # Which router
//
// A router is a model too, so routers nest, and each passes the same suite.
//
//	the need                                          the router
//	an outage, a rate limit or a long prompt           Fallback
//	must not end the run
//	one model at several endpoints                     RoundRobin; LeastLoaded where answers
//	                                                   differ much in length
//	a provider that is sometimes slow to begin         Hedge
//	a provider's limits on requests and tokens         RateLimit, around the model
//	a provider that is out of order for a while        Breaker, around the model
//	cheap models first, checked, then stronger ones    Cascade
//	a strong model to plan and a fast one to act       PlanThenAct
//	no wish to choose                                  Auto
//
// A usual arrangement, from the inside: each endpoint in a RateLimit in a Breaker; the endpoints of
// a model in a RoundRobin; the models of a rank in a Fallback; and those, cheap and strong, in a
// Cascade, a PlanThenAct or an Auto.
//
// # What all of them guarantee
//
//   - No member is sent what it cannot take: tools, images, structured output, stop texts, or more
//     than its window by an estimate.
//   - Each attempt is reported to the [agent.RouteTrace] of its context, before and after, with its
//     reason and cost. A run makes events, session entries and its bill of the reports, and counts
//     the money against its limits: attempts that were kept, that failed after they had begun, that
//     were outrun. Nothing is counted twice, however routers nest.
//   - Usage that a provider could not report, because its answer broke or was cut off, is estimated
//     and marked as estimated.
//   - Signed reasoning goes back only to the provider that signed it; see [agent.Thinking].
//   - An error is a *[agent.ModelError] of the kind that fits best what to do next, and holds the
//     error of each member.
//   - A member that panics has failed. A panic of the reader passes through.
//
// Prices, windows and speeds come from each [Member]; missing ones are looked up in
// [agent.DefaultPrices] and the model's [agent.Capabilities].
//
// # Limits
//
//   - A cascade takes at most eight members.
//   - With a check that errs in 15 % of cases or more, a right answer worth $1 may not be worth
//     going on. State the budget instead ([WorthFor]).
//   - [Auto] keeps in memory which conversation is with which member. It learns nothing from
//     sub-agents, which report no outcome.
//   - In a [Hedge], if the second request answers first, its answer waits until the cancelled first
//     request has ended. The second request has Grace to end after it lost.
//
// # Terms
//
//   - member: one of the models that a router chooses from.
//   - draft: an answer of a cascade's member that a check may still reject.
//   - episode (Auto): the part of a conversation that one member handles for one purpose. Its
//     outcome is learned.
//   - labour (Auto): the usual size of a task of a purpose, from recorded runs.
//   - home (RoundRobin, LeastLoaded): the member that holds the prompt cache of a conversation.
//   - spill: a request that leaves its home because the home is too busy.
//   - stray (PlanThenAct): the reason why carrying out a plan has failed; the plan is then made
//     again.
package router
