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
// It is made for Mixture-of-Experts models that activate few experts a token, and runs dense ones
// too: the architectures qwen3moe, qwen3, qwen2, qwen2moe, llama, olmoe and gpt-oss, in the tensor
// types of llama.cpp. No flag and no C compiler is needed to build it; kernels for the CPU at hand
// are chosen when it starts.
//
// What is automatic:
//
//   - The chat template in the file renders the conversation, after it was fitted to what that
//     template can take. Marks of the template that stand in a message, such as "<|im_end|>" in a
//     file that a tool showed, are written as plain text, never as the control token.
//   - Reasoning and tool calls are read as the model writes them, in the format its template
//     speaks, and streamed.
//   - Tool calls and structured output are held to their JSON Schema while they are written; see
//     [Config].Constrain.
//   - Concurrent requests share each pass over the weights. A prompt that begins like an earlier
//     one, of this session or another, is computed only from where it differs.
//   - Speculative decoding: what the conversation shows, above all the files that are being
//     rewritten, is proposed and verified many tokens at a time. The output is the same with it as
//     without it.
//
// Answers are reproducible: the same request gives the same answer, whatever runs beside it.
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
//     grammar leaves no choice about counts as certain. The beam works without a temperature, and
//     its answer is streamed once it is decided. An answer that the limit on tokens cuts off is
//     given only when none was found that ends before. The alternatives in a token trace are those
//     that the grammar allows.
//   - avoid_calls, a list of {"name", "arguments"}, names tool calls that are not to be made, such
//     as those that were tried and failed. Arguments are compared as JSON: their order, space,
//     escapes and ways to write a whole number do not matter, and strings are equal as text. With a
//     beam the likeliest other answer is given. Without, the answer is what it would be without the
//     list; should it make such a call, it is drawn again where there is a temperature, and else,
//     or after 32 draws, searched for. When no other answer is left, the error wraps [ErrAvoided].
//
// [Model].Embed turns texts into vectors to search by. It is for embedding models that are causal
// transformers, such as Qwen3-Embedding; encoders such as BERT do not load.
//
// With both tools and an output schema the model may call, and an answer without calls is of the
// schema. Formats that write calls without a marker cannot tell the two apart: there the answer is
// of the schema, unless a call is required.
//
// # Trust
//
// A model file is data from a stranger: every length in it is checked and its template runs with
// limits on steps and output. Weights can still make a model say anything; what its calls may do is
// up to the agent's permissions.
package moe
