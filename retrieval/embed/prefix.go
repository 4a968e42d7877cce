package embed

import "strings"

// Prefixes are put before texts. Many models were trained with one prefix for queries and another
// for documents, and find noticeably less without them.
type Prefixes struct{ Query, Document string }

// PrefixesOf returns the prefixes that a model expects, judged by its name. It returns the zero
// value if none are known or expected. Sources are the models' cards.
func PrefixesOf(model string) Prefixes {
	name := strings.ToLower(model)
	for _, m := range prefixed {
		if containsAll(name, m.words) {
			return m.Prefixes
		}
	}
	return Prefixes{}
}

func containsAll(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

const (
	askPassages = "Represent this sentence for searching relevant passages: "
	askCode     = "Represent this query for searching relevant code: "
)

// prefixed lists models by words of their names; the first match counts.
var prefixed = []struct {
	words []string
	Prefixes
}{
	{[]string{"nomic-embed-code"}, Prefixes{Query: askCode}},
	{[]string{"coderankembed"}, Prefixes{Query: askCode}},
	{[]string{"nomic-embed"}, Prefixes{"search_query: ", "search_document: "}},
	{[]string{"e5", "mistral"}, Prefixes{Query: "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "}},
	{[]string{"e5", "instruct"}, Prefixes{Query: "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "}},
	{[]string{"e5-"}, Prefixes{"query: ", "passage: "}},
	{[]string{"bge-m3"}, Prefixes{}},
	{[]string{"bge-code"}, Prefixes{}}, // its instructions differ from task to task
	{[]string{"bge-", "-zh"}, Prefixes{}},
	{[]string{"bge-"}, Prefixes{Query: askPassages}},
	{[]string{"mxbai-embed"}, Prefixes{Query: askPassages}},
	{[]string{"arctic-embed", "v2"}, Prefixes{Query: "query: "}},
	{[]string{"arctic-embed2"}, Prefixes{Query: "query: "}},
	{[]string{"arctic-embed"}, Prefixes{Query: askPassages}},
	{[]string{"qwen3-embedding"}, Prefixes{Query: "Instruct: Given a search query, retrieve relevant code that answers the query\nQuery:"}},
	{[]string{"embeddinggemma"}, Prefixes{"task: search result | query: ", "title: none | text: "}},
}
