// Package serve offers any [agent.Model] over HTTP under the OpenAI chat completions API.
//
// [New] returns an http.Handler. Put it behind a model that runs here (router/moe), a router or a
// remote backend, and every client of that API can use it:
//
//	srv, err := serve.New(model, serve.Config{MaxConcurrent: 8, Queue: 32})
//	http.ListenAndServe("127.0.0.1:8080", srv)
//
// It answers
//
//   - POST /v1/chat/completions: streamed and whole, with n choices, tools, tool_choice,
//     response_format, logprobs and stop. Fields it does not know reach the model as
//     [agent.Request].Extra.
//   - GET /v1/models and /v1/models/{id}.
//   - POST /tokenize and /detokenize, when the model is a [Tokenizer].
//   - GET /metrics for Prometheus, and GET /health.
//
// At most MaxConcurrent requests run and Queue wait; the next one is refused at once with status
// 429 and Retry-After. A client that disconnects ends its request and frees its place; /metrics
// counts it under the outcome "aborted". To stop
// gracefully, give the handler to an http.Server and call its Shutdown.
//
// The host's http.Server reads the requests: set its ReadHeaderTimeout and ReadTimeout against
// clients that send slowly. A request takes a place only after its body has arrived, and the server
// gives up on a client that does not read its answer after Config.WriteTimeout.
//
// A request for another model than Config.Name and Aliases is refused with status 404. Pages in
// browsers can call the server if Config.Origins lists their origin.
//
// The handler trusts whoever reaches it, unless Config.Key is set: bind it to loopback or put it
// behind a proxy that knows its users.
//
// # Limits
//
//   - It answers a wrong method with status 404.
//   - Each of the n choices of a request is a call of the model, and the usage is their sum: the
//     prompt counts n times.
//   - It keeps nothing between requests except the engine's cache.
package serve
