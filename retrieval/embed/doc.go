// Package embed provides embedders for package retrieval: servers that speak OpenAI's embeddings
// API, and models that run in this process.
//
//	embedder, err := embed.NewOpenAI(embed.OpenAIConfig{
//		BaseURL: "http://127.0.0.1:8080/v1", // Ollama, llama.cpp's server, vLLM, or empty for OpenAI
//		Model:   "nomic-embed-text",
//	})
//
// Search works without any of them; an embedder also finds code that the query describes in words
// that the code does not use.
//
// # Trust
//
// Texts of the tree are sent to the server. Its answers are untrusted: their size is limited, and
// each vector is checked before it is used.
package embed
