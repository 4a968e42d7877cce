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
// It is made for Mixture-of-Experts models that activate few experts per token, and runs dense ones
// too: the architectures qwen3moe, qwen3, qwen2, qwen2moe, llama, olmoe and gpt-oss, in the tensor
// types of llama.cpp. It builds without flags and without a C compiler; it chooses kernels for the
// CPU when it starts.
//
// What is automatic:
//
//   - The chat template in the file renders the conversation after the conversation was fitted to
//     what that template can take. Marks of the template that stand in a message, such as
//     "<|im_end|>" in a file that a tool showed, become plain text, never the control token.
//   - Reasoning and tool calls are read as the model writes them, in the format its template
//     speaks, and streamed.
//   - Tool calls and structured output are held to their JSON Schema while they are written; see
//     [Config].Constrain.
//   - Concurrent requests share each pass over the weights. A prompt that begins like an earlier
//     one, of this session or another, is computed only from where it differs.
//   - Speculative decoding: text of the conversation, above all of files that are being rewritten,
//     is proposed and verified many tokens at a time. The output is the same as without it.
//
// Answers are reproducible: the same request gives the same answer, whatever else is running.
// Without a temperature the likeliest token is taken; with one, [agent.Request].Seed chooses the
// answer.
//
// The sampling options of llama.cpp and vLLM can be given in [agent.Request].Extra: top_k, top_p,
// min_p, repeat_penalty (or repetition_penalty), presence_penalty, frequency_penalty; and
// parallel_tool_calls, and chat_template_kwargs for variables of the template. A grammar field
// holds the whole answer to a text grammar (the GBNF of llama.cpp), before any tool or output
// schema.
//
// Two more fields of Extra say which answer is wanted:
//
//   - beam, a number from 1 to 32, asks for the likeliest whole answer in place of the likeliest
//     next token: a beam search of that width under the grammar of the request. An answer is as
//     likely as the product of its tokens' probabilities, whatever its length; text that the
//     grammar forces counts as certain. The beam works without a temperature, and its answer is
//     streamed once it is decided. An answer that the limit on tokens cuts off is returned only if
//     no other was found. The alternatives in a token trace are those that the grammar allows.
//   - avoid_calls, a list of {"name", "arguments"}, names tool calls that are not to be made, such
//     as those that were tried and failed. Arguments are compared as JSON: their order, space,
//     escapes and ways to write a whole number do not matter, and strings are equal as text. With a
//     beam the likeliest other answer is given. Without a beam, the answer is what it would be
//     without the list. If it makes such a call, it is drawn again with a temperature; without one,
//     or after 32 draws, it is searched for. When no other answer is left, the error wraps
//     [ErrAvoided].
//
// [Model].Embed turns texts into vectors for search. It takes embedding models that are causal
// transformers, such as Qwen3-Embedding.
//
// With both tools and an output schema the model may call, and an answer without calls follows the
// schema. Formats that write calls without a marker cannot distinguish the two: there the answer
// follows the schema, unless a call is required.
//
// # Trust
//
// A model file is data from a stranger: every length in it is checked and its template runs with
// limits on steps and output. Weights can still make a model say anything; the agent's permissions
// decide what its calls may do.
//
// # Limits
//
//   - Images are refused, and encoders such as BERT do not load.
//   - Some templates (Mistral Nemo) refuse a user's message directly after tool results, or a
//     conversation that begins with the assistant. The error is the template's.
//   - References are tokenized again with every request (at most eight texts of 1 MiB each).
//   - Speculation from references has no effect on formats whose arguments are neither JSON nor
//     plain text (Python calls, Gemma's objects), because their escapes differ.
//   - Two spellings of one text are two paths of a beam; their probabilities are not added up.
package moe
