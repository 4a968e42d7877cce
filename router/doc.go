// Package router is where the models are: every way to reach a language model as an [agent.Model],
// and models made of models.
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
// A router is a model too, so that routers nest, and each passes the same suite.
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
// A usual house, from the inside: each endpoint in a RateLimit in a Breaker; the endpoints of a
// model in a RoundRobin; the models of a rank in a Fallback; and those, cheap and strong, in a
// Cascade, a PlanThenAct or an Auto.
//
// # What all of them hold to
//
//   - No member is sent what it cannot take: tools, images, structured output, stop texts, or more
//     than its window, as far as an estimate can tell.
//   - Each attempt is told to the [agent.RouteTrace] of its context, before and after, with its
//     reason and what it cost. A run makes events, session entries and its bill of that, and counts
//     the money against its limits: what was kept, what failed after it had begun, what was outrun.
//     Nothing is counted twice, however routers nest.
//   - What a provider did not come to report, because its answer broke or was cut off, is
//     estimated, and told as such.
//   - Signed reasoning goes back to the provider that signed it only; see [agent.Thinking].
//   - An error is a *[agent.ModelError] of the kind that says best what to do next, and holds what
//     each member said.
//   - A member that panics has failed. The reader's own panic passes through.
//
// Prices, windows and speeds are those of each [Member]; what is left out is looked up in
// [agent.DefaultPrices] and the model's own [agent.Capabilities].
package router
