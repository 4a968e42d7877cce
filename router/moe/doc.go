// Package moe runs a language model from a GGUF file in this process, on the CPU, as an
// [agent.Model].
//
//	model, err := moe.Load("Qwen3-Coder-30B-A3B-Instruct-Q4_K_M.gguf", moe.Config{})
//	if err != nil {
//		return err
//	}
//	defer model.Close()
//	a, err := agent.New(agent.Config{Model: model, …})
//
// The package is made for Mixture-of-Experts models that activate few experts per token, but also
// runs dense models: the architectures qwen3moe, qwen3, qwen2, qwen2moe, llama, olmoe and gpt-oss,
// in the tensor types of llama.cpp. The package builds without flags and without a C compiler; it
// chooses the kernels for the CPU at run time.
//
// What is automatic:
//
//   - The chat template in the file renders the conversation, which is first adapted to what the
//     template supports. Control texts of the template that occur in a message, such as
//     "<|im_end|>" in a file that a tool showed, become plain text, never the control token.
//   - Reasoning and tool calls are parsed as the model writes them, in the format of its template,
//     and streamed.
//   - Tool calls and structured output are constrained to their JSON Schema while they are
//     generated; see [Config].Constrain.
//   - Concurrent requests share each pass over the weights. If a prompt begins like an earlier one,
//     of this session or another, only the part after the common beginning is computed.
//   - Speculative decoding: text from the conversation, mainly from files that are being rewritten,
//     is proposed as drafts, many tokens of which are verified at once. The output is the same as
//     without drafts.
//
// Answers are reproducible: the same request results in the same answer, whatever else is running.
// Without a temperature the likeliest token is taken; with one, [agent.Request].Seed chooses the
// answer.
//
// The sampling options of llama.cpp and vLLM can be given in [agent.Request].Extra: top_k, top_p,
// min_p, repeat_penalty (or repetition_penalty), presence_penalty, frequency_penalty; and
// parallel_tool_calls, and chat_template_kwargs for variables of the template. A field grammar
// constrains the whole answer to a text grammar (in llama.cpp's GBNF); it takes precedence over
// tools and output schemas.
//
// Two more fields of Extra select the answer:
//
//   - beam, a number from 1 to 32, requests the likeliest whole answer instead of the likeliest
//     next token at each step: it is found by a beam search of that width under the grammar of the
//     request. The likelihood of an answer is the product of its tokens' probabilities, whatever
//     its length; text that the grammar forces counts as certain. The beam works without a
//     temperature, and its answer is streamed once it is decided. An answer that is cut off by the
//     limit on tokens is returned only if no other was found. A token trace lists only alternatives
//     that the grammar allows.
//   - avoid_calls, a list of {"name", "arguments"}, lists tool calls that must not be made, for
//     example because they were tried and failed. Arguments are compared as JSON values: the order
//     of members, white space, escapes and the spelling of whole numbers do not matter. With a
//     beam, the likeliest other answer is returned. Without a beam, the answer is the same as
//     without the list, unless it makes a listed call. In that case the answer is sampled again if
//     there is a temperature; without a temperature, or after 32 samples, another answer is found
//     by a search. If no other answer is left, the error wraps [ErrAvoided].
//
// [Model].Embed turns texts into vectors for search. It takes embedding models that are causal
// transformers, such as Qwen3-Embedding.
//
// With both tools and an output schema the model may call, and an answer without calls follows the
// schema. In formats that write calls without a marker, the two cannot be distinguished: the answer
// then follows the schema, unless a call is required.
//
// # Trust
//
// A model file is untrusted: every length in it is checked, and its template runs with limits on
// steps and output. The weights can still make a model say anything; the agent's permissions decide
// what the model's calls may do.
//
// # Limits
//
//   - Images are refused, and encoders such as BERT do not load.
//   - Some templates (Mistral Nemo) refuse a user's message directly after tool results, or a
//     conversation that begins with the assistant. The error comes from the template.
//   - The texts offered for edit speculation (references) are tokenized again with every request
//     (at most eight texts of 1 MiB each).
//   - Speculation from references has no effect on formats whose arguments are neither JSON nor
//     plain text (Python calls, Gemma's objects), because their escapes differ.
//   - Two tokenizations of the same text are separate paths of a beam; their probabilities are not
//     added up.
package moe
