package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/devdata"
)

// TestVectorsWithoutVocabulary checks pre-tokenizers whose test vectors are available without the
// vocabulary. A piece has the same ids wherever it occurs, so texts that are one piece reveal the
// ids of that piece in other texts. The test removes known pieces from both ends of a text and
// learns a single piece left in between. Wrong cuts lead to contradictions.
func TestVectorsWithoutVocabulary(t *testing.T) {
	for _, c := range []struct {
		name, wrong string // wrong is a similar row that must fail
		least       int    // minimum number of matches of known pieces
	}{
		{"llama-bpe", "qwen2", 60},
		{"command-r", "qwen2", 60},
		{"qwen35", "deepseek-coder", 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := devdata.Path(t, vocabDir+c.name+".gguf.inp")
			vs := readVectors(t, strings.TrimSuffix(path, ".inp"))
			if devdata.Sampled(t, path) {
				c.least = 15 // there are fewer texts
			}
			proved, err := learnAll(t, c.name, vs)
			if err != nil {
				t.Fatal(err)
			}
			if proved < c.least {
				t.Errorf("only %d uses of pieces proved, want %d", proved, c.least)
			}
			if _, err := learnAll(t, c.wrong, vs); err == nil {
				t.Errorf("%s fits as well", c.wrong)
			}
		})
	}
}

// learnAll calls learn for all vectors five times, after which no more pieces can be learned, and
// returns the number of known pieces that matched in the last round.
func learnAll(t *testing.T, name string, vs []vector) (int, error) {
	t.Helper()
	known := map[string][]int32{}
	proved := 0
	for range 5 {
		proved = 0
		for _, v := range vs {
			n, err := learn(known, pieces(mustRow(t, name).stages, v.text), v.ids)
			if err != nil {
				return 0, fmt.Errorf("%q: %w", v.text, err)
			}
			proved += n
		}
	}
	return proved, nil
}

func mustRow(t *testing.T, name string) preTokenizer {
	t.Helper()
	row, ok := findPreTokenizer(name)
	if !ok {
		t.Fatalf("no pre-tokenizer %s", name)
	}
	return row
}

// learn removes known pieces from both ends of a text's ids, records the rest if it is a single
// piece, and returns the number of known pieces that matched.
func learn(known map[string][]int32, words []string, ids []int32) (int, error) {
	fitted := 0
	for len(words) > 0 {
		want, ok := known[words[0]]
		if !ok {
			break
		}
		if len(ids) < len(want) || !slices.Equal(ids[:len(want)], want) {
			return 0, fmt.Errorf("%q should be %v where the ids are %v", words[0], want, ids)
		}
		words, ids = words[1:], ids[len(want):]
		fitted++
	}
	for len(words) > 1 {
		last := words[len(words)-1]
		want, ok := known[last]
		if !ok {
			break
		}
		if at := len(ids) - len(want); at < 0 || !slices.Equal(ids[at:], want) {
			return 0, fmt.Errorf("%q should be %v where the ids end %v", last, want, ids)
		}
		words, ids = words[:len(words)-1], ids[:len(ids)-len(want)]
		fitted++
	}
	if len(ids) < len(words) {
		return 0, fmt.Errorf("%d ids left for the pieces %q", len(ids), words)
	}
	if left := len(strings.Join(words, "")); len(ids) > left {
		return 0, fmt.Errorf("%d ids left for %d bytes", len(ids), left)
	}
	if len(words) == 1 {
		known[words[0]] = ids
	}
	return fitted, nil
}
