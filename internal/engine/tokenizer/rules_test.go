package tokenizer

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
	"github.com/google/go-cmp/cmp"
)

const (
	anyContraction = `(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])`
	gpt2Rule       = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	qwen2Rule      = anyContraction + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	starts         = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	ends           = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	casedRule      = `[^\r\n\p{L}\p{N}]?` + starts + `*` + ends + `+SUFFIX|[^\r\n\p{L}\p{N}]?` + starts + `+` + ends + `*SUFFIX|`
	groupsRule     = `(?<=^\p{N}*)\p{N}{1,3}(?=(?:\p{N}{3})*$)` // for segments that are runs of numbers or contain no number
	scriptedRule   = `[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_` + "`" + `{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// published holds the splitting rules as regular expressions, applied one after the other, copied
// from the models' tokenizer.json.
var published = map[string][]string{
	"default":        {`[\p{P}$+<=>^~|]+`, gpt2Rule, `\p{N}+`, `[0-9][0-9][0-9]`},
	"gpt-2":          {gpt2Rule},
	"starcoder":      {`\p{N}`, gpt2Rule},
	"falcon":         {"[\\p{P}$+<=>^~|`]+", gpt2Rule, `[0-9][0-9][0-9]`},
	"llama-bpe":      {strings.Replace(qwen2Rule, `\p{N}|`, `\p{N}{1,3}|`, 1)},
	"qwen2":          {qwen2Rule},
	"qwen35":         {anyContraction + `|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`},
	"bailingmoe":     {`'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`},
	"laguna":         {`[^\n]+|[\n]+`, qwen2Rule},
	"seed-coder":     {anyContraction + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+`},
	"minicpm5":       {`\p{N}{1,3}`, strings.Replace(qwen2Rule, `\p{N}|`, `\p{N}+|`, 1)},
	"exaone-moe":     {anyContraction + `|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+`},
	"gpt-4o":         {strings.ReplaceAll(casedRule, "SUFFIX", anyContraction+"?") + `\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`},
	"tekken":         {strings.ReplaceAll(casedRule, "SUFFIX", "") + `\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`},
	"kimi-k2":        {`\p{Han}+|` + strings.NewReplacer("SUFFIX", anyContraction+"?", `\p{M}]`, `\p{M}-[\p{Han}]]`).Replace(casedRule) + `\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`},
	"tiny_aya":       {`\p{N}+`, groupsRule, strings.ReplaceAll(casedRule, "SUFFIX", anyContraction+"?") + `\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`},
	"deepseek-coder": {`[\r\n]`, `\s?\p{L}+`, `\s?\p{P}+`, `[一-龥ࠀ-一가-\uD7FF]+`, `\p{N}`},
	"deepseek-v3":    {`\p{N}{1,3}`, `[一-龥\u3040-ゟ゠-ヿ]+`, scriptedRule},
	"poro-chat":      {` ?[^(\s|.,!?…。，、।۔،)]+`},
	"viking":         {` ?[^(\s|.,!?…。，、।۔،)]+`, `\p{N}`},
	"gemma4":         {`[^\n]+|[\n]+`},
	"superbpe":       {`\p{N}+`, groupsRule},
	"afmoe":          {`\p{N}+`, groupsRule, `[一-鿿㐀-䶿\uF900-\uFAFF\u3040-ゟ゠-ヿ･-ﾟ⼀-\u2FDFเ-\u0E7F\u0E80-\u0EFFក-\u17FFက-႟ꩠ-ꩿꧠ-\uA9FF가-\uD7AFᄀ-ᇿ]+`, scriptedRule},
	"youtu": {`[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\u3040-ゟ゠-ヿ]+`,
		strings.ReplaceAll(casedRule, "SUFFIX", anyContraction+"?") + `\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`},
	"deepseek-llm": {`[\r\n]`, `\s?[` + letterRanges() + `]+`, `\s?[!-/:-~！-／：-～‘-‟\u3000-。]+`, `\s+$`, `[一-龥ࠀ-一가-\uD7FF]+`, `\p{N}+`},
}

// letterRanges returns deepseek-llm's letters as a character class.
func letterRanges() string {
	var b strings.Builder
	for _, r := range deepseekLetters().R16 {
		fmt.Fprintf(&b, `\u%04X-\u%04X`, r.Lo, r.Hi)
	}
	for _, r := range deepseekLetters().R32 {
		b.WriteString(string(rune(r.Lo)) + "-" + string(rune(r.Hi)))
	}
	return b.String()
}

// isolatedSplit cuts text as a list of "isolated" splits does, and returns the lengths of the
// pieces in runes.
func isolatedSplit(t *testing.T, rules []*regexp2.Regexp, text []rune) []int {
	t.Helper()
	if len(rules) == 0 {
		return []int{len(text)}
	}
	var out []int
	at := 0
	m, err := rules[0].FindRunesMatch(text)
	for ; m != nil && err == nil; m, err = rules[0].FindNextMatch(m) {
		if m.Index > at {
			out = append(out, isolatedSplit(t, rules[1:], text[at:m.Index])...)
		}
		at = m.Index + m.Length
		out = append(out, isolatedSplit(t, rules[1:], text[m.Index:at])...)
	}
	if err != nil {
		t.Fatal(err)
	}
	if at < len(text) {
		out = append(out, isolatedSplit(t, rules[1:], text[at:])...)
	}
	return out
}

// pieces cuts text by the stages of a row.
func pieces(stages []stage, s string) []string {
	if len(stages) == 0 {
		return []string{s}
	}
	var out []string
	for i := 0; i < len(s); {
		e := stages[0](classes(), s, i)
		out = append(out, pieces(stages[1:], s[i:e])...)
		i = e
	}
	return out
}

// unitsOfText lists the parts of random texts: the cases of each rule and their neighbours.
var unitsOfText = []string{
	"a", "Z", "HELLO", "hello", "World", "camelCase", "fooBAR", "XMLHttp", " the", "0", "7", "12", "1234", "٣", "Ⅷ", "½", "²",
	" ", " ", "  ", "    ", "\t", "\n", "\n\n", "\r\n", "\r", "\u00a0", "\u3000", "\u0085", "\u2028", "\v", "\f",
	".", ",", "(", ")", "{", "};", "+=", "'", "'s", "'S", "'ll", "'LL", "'Re", "'t", "'ve", "'x", "\"", "`", "$", "^", "~", "|", "<", ">", "/", "//", "_", "-", "#", "\\",
	"é", "Ä", "ß", "Ω", "нещо", "Български", "我", "想在", "、", "。", "！", "ー", "カタ", "ひら", "한국", "ㄱ", "🚀", "😶‍🌫️", "\u0301", "e\u0301", "\u200d", "កាន់", "ไทย",
	"हिन्दी", "العربية", "\u01c5", "ʰ", "ª", "\ufffd", "\u00ad", "\x00", "\x7f", "\ue000", "…", "‘", "“", "€", "〇", "⺀", "𝐀", "𐐀", "µ", "א",
	"\xff", "\xc3", "\xe2\x80", "\xf0\x9f\x9a", "\xed\xa0\x80", "\xc0\x80",
}

func randomText(r *rand.Rand, units []string) string {
	var b strings.Builder
	for range r.IntN(25) + 1 {
		b.WriteString(units[r.IntN(len(units))])
	}
	return b.String()
}

// TestRules compares the scanners with the published regular expressions on random text, valid
// UTF-8 or not.
//
// Evidence: engine · Tokenizers match real vocabularies
func TestRules(t *testing.T) {
	for name, sources := range published {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pre, ok := findPreTokenizer(name)
			if !ok {
				t.Fatal("no such row")
			}
			var rules []*regexp2.Regexp
			for _, source := range sources {
				rules = append(rules, regexp2.MustCompile(source, regexp2.None))
			}
			r := rand.New(rand.NewPCG(7, uint64(len(name))))
			for range 700 {
				text := randomText(r, unitsOfText)
				got := pieces(pre.stages, text)
				if strings.Join(got, "") != text {
					t.Fatalf("the pieces %q are not the text %q", got, text)
				}
				var lengths []int
				for _, p := range got {
					lengths = append(lengths, utf8.RuneCountInString(p))
				}
				want := isolatedSplit(t, rules, []rune(text))
				if diff := cmp.Diff(want, lengths); diff != "" {
					t.Fatalf("pieces of %q are %q (-want +got):\n%s", text, got, diff)
				}
			}
		})
	}
}

// TestRulesProgress checks that every row cuts every text into non-empty pieces that add up to the
// text.
func TestRulesProgress(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, row := range preTokenizers() {
		for range 500 {
			text := randomText(r, unitsOfText)
			got := pieces(row.stages, text)
			for _, p := range got {
				if p == "" {
					t.Fatalf("%s: %q has an empty piece", row.names[0], text)
				}
			}
			if strings.Join(got, "") != text {
				t.Fatalf("%s: the pieces %q are not the text %q", row.names[0], got, text)
			}
		}
	}
}

// TestPreTokenizers checks that no name occurs in two rows.
func TestPreTokenizers(t *testing.T) {
	names := PreTokenizers()
	for i, name := range names[1:] {
		if names[i] == name {
			t.Errorf("%s is in two rows", name)
		}
	}
}

func ExamplePreTokenizers() {
	fmt.Println(len(PreTokenizers()) > 80)
	// Output: true
}
