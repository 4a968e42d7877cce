// Package router combines models into one model: it chooses, balances, checks and limits members,
// which are [agent.Model] values. Its subpackages connect to actual models.
//
// The backends are separate packages, so that a program links only the ones that it uses:
//
//   - router/anthropic speaks the Anthropic Messages API.
//   - router/openai speaks the OpenAI chat completions and Responses APIs, and those of compatible
//     servers.
//   - router/langchain adapts langchaingo models to [agent.Model], and the other way round.
//   - router/moe runs a model in this process.
//
// All of them pass the suite of agent/agenttest, each with the exceptions that its
// [agent.Capabilities] declare.
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
//	a provider that is down for a while        Breaker, around the model
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
//   - No member receives a request that it cannot take: tools, images, structured output, stop
//     texts, or more than its window by an estimate.
//   - Each attempt is reported to the [agent.RouteTrace] of its context, before and after, with its
//     reason and cost. From these reports, a run makes events, session entries and its bill, and
//     counts the cost against its limits. That includes attempts that were kept, that failed after
//     they had begun, and that lost a race. Nothing is counted twice, however routers nest.
//   - Usage that a provider could not report, because its answer broke or was cut off, is estimated
//     and marked as estimated.
//   - Signed reasoning goes back only to the provider that signed it; see [agent.Thinking].
//   - An error is a *[agent.ModelError] whose kind best indicates what to do next, and contains the
//     error of each member.
//   - A panic of a member counts as a failure of that member. A panic of the reader propagates.
//
// Prices, windows and speeds come from each [Member]; missing ones are looked up in
// [agent.DefaultPrices] and the model's [agent.Capabilities].
//
// # Limits
//
//   - A cascade takes at most eight members.
//   - With a check that errs in 15 % of cases or more, further attempts may not pay off for a right
//     answer worth $1. Specify a budget instead (see [WorthFor]).
//   - [Auto] keeps the assignment of conversations to members in memory. It learns nothing from
//     sub-agents, which report no outcome.
//   - In a [Hedge], if the second request answers first, its answer waits until the cancelled first
//     request has ended. If the second request loses, Grace limits the wait for its end.
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
