package wire

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/tokencount"
)

// Refusal holds the status, code and message with which a server refuses a request.
type Refusal struct {
	Status  int // 0 for an error in a stream
	Code    string
	Type    string
	Param   string
	Message string
	Body    []byte // the whole body, for sizes that it has as fields

	Tokens int // estimated size of the prompt; 0 if unknown
	Window int // known size of the model's context; 0 if unknown
}

// Overflows reports whether a refusal means that the prompt does not fit into the model's context.
// Servers say so with any status and in any words, so the status and the code count first, then the
// sizes that the message names: a count above a limit, or a limit next to words for the input. The
// estimated size of the prompt decides where the words do not.
func (r *Refusal) Overflows() bool {
	if otherParam.MatchString(r.Param) && !strings.Contains(r.Param, "content") {
		return false
	}
	if contextCode.MatchString(r.Code) || contextCode.MatchString(r.Type) || !strings.Contains(r.Message, " ") && contextCode.MatchString(r.Message) {
		return true
	}
	switch r.Status {
	case http.StatusRequestEntityTooLarge:
		return true
	case 0, http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusBadGateway:
	default:
		return false
	}
	if above(fieldSizes(r.Body), 128) {
		return true
	}
	text := strings.ReplaceAll(strings.ToLower(r.Message), "input should", "value should")
	text = thousands.ReplaceAllString(text, "$1$2")
	text = thousands.ReplaceAllString(text, "$1$2")
	if rates.MatchString(text) || aboutID.MatchString(text) && !contextWord.MatchString(text) {
		return false
	}
	text = identifiers.ReplaceAllStringFunc(text, func(s string) string {
		if sizeNames.MatchString(s) {
			return s
		}
		return " "
	})
	return r.sizesSay(text)
}

// sizesSay decides by the words and the numbers of a message.
func (r *Refusal) sizesSay(text string) bool {
	numbers := sizesIn(text)
	input := inputWord.MatchString(text)
	if outputWord.MatchString(text) && !contextWord.MatchString(text) || media.MatchString(text) && !contextWord.MatchString(text) {
		return false // the limit of the output, or of a picture
	}
	if structure.MatchString(text) && !contextWord.MatchString(text) {
		return false
	}
	switch {
	case input && above(numbers, 256):
		return true
	case input && relation.MatchString(text) && len(numbers) > 0 && numbers[len(numbers)-1] >= 1024:
		return true
	case tooMuch.MatchString(text):
		return true
	case len(numbers) > 0 && r.Tokens > 0 && anyWord.MatchString(text) && r.Tokens >= numbers[0]*3/4:
		return true
	}
	return r.Window > 0 && r.Tokens > 0 && r.Tokens >= r.Window-r.Window/20
}

// above reports whether a number is above another one that could be a limit: both at least least,
// and not of different magnitudes. numbers ascend.
func above(numbers []int, least int) bool {
	for i, limit := range numbers {
		for _, n := range numbers[i+1:] {
			if limit >= least && n > limit && n/64 <= limit {
				return true
			}
		}
	}
	return false
}

// fieldSizes returns the sizes that a body has as fields, such as llama.cpp's n_prompt_tokens and
// n_ctx, in order of size.
func fieldSizes(body []byte) (out []int) {
	for _, m := range sizeFields.FindAllSubmatch(body, 16) {
		if n, err := strconv.Atoi(string(m[1])); err == nil {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// sizesIn returns the numbers in a text that could be sizes, in order of size.
func sizesIn(text string) []int {
	var out []int
	for _, m := range sizes.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil || n > 1<<30 {
			continue
		}
		switch m[2] {
		case "k":
			n *= 1000
		case "m":
			n *= 1_000_000
		}
		at := len(out)
		for at > 0 && out[at-1] > n {
			at--
		}
		if n >= 128 {
			out = append(out[:at], append([]int{n}, out[at:]...)...)
		}
	}
	return out
}

var (
	contextCode = regexp.MustCompile(`(?i)context.{0,12}(length|window|size|limit|exceed|overflow|full)|(exceed|max).{0,8}context|(prompt|input|request|messages?)_?(is_)?too_?(long|large)|max_?(prompt|input)_?tokens|tokens?_?limit_?(reached|exceeded)|string_above_max_length`)
	otherParam  = regexp.MustCompile(`(?i)id\]?$|name$|^tools|tool_choice|^metadata|^user|^stop|^max_|key$|response_format`)

	thousands   = regexp.MustCompile(`(\d)[,_'’](\d{3})\b`)
	identifiers = regexp.MustCompile("[a-z]+(?:_[a-z0-9]+)+")
	sizeNames   = regexp.MustCompile(`token|context|max_model_len|max_seq|seq_len|prompt_len|input_len`)
	sizes       = regexp.MustCompile(`(?:^|[^\w.-])(\d{1,10})([km]?)(?:$|[^\w.-]|\.(?:\D|$))`)

	sizeFields = regexp.MustCompile(`(?i)"\w*(?:n_ctx|prompt_?tokens|input_?tokens|num_?tokens|context_?(?:length|window|size|limit)|max_?(?:context|input|prompt|model_?len|total_?tokens)|tokens?_?limit)\w*"\s*:\s*"?(\d{3,10})`)

	rates       = regexp.MustCompile(`per[ -](minute|min|day|hour|second|month)|rate.?limit|\b[tr]p[md]\b|\bquota|credit|billing|afford|usage limit|subscription|your plan|time.?out|timed out|deadline|concurren`)
	contextWord = regexp.MustCompile(`context|prompt|\binputs?\b|input_tokens|messages|sequence|conversation|total tokens|message tokens|tokens of`)
	inputWord   = regexp.MustCompile(`token|context|prompt|sequence|conversation|inputs? (length|size|text|token|must|is|exceed|contain)|(length|size) of (the |your )?(input|messages|request)|上下文|输入|提示|词元|长度|コンテキスト|トークン|入力|컨텍스트|토큰|입력|контекст|токен|промпт|kontext|contexto|contexte|contesto|eingabe|entrada|jeton`)
	anyWord     = regexp.MustCompile(`\pL`)
	outputWord  = regexp.MustCompile(`max_(completion_|output_|new_)?tokens|max(imum)? (completion|output|new) tokens|(completion|output) tokens|budget_tokens`)
	media       = regexp.MustCompile(`image|picture|pixel|photo|audio|video|pdf|\bfiles?\b|attachment|document`)
	structure   = regexp.MustCompile(`character|array|\btools?\b|function|stop sequence|temperature|schema|\bname\b|description|header|dimension`)
	relation    = regexp.MustCompile(`exceed|too (long|large|many|big|much)|longer|larger|greater|bigger|more than|\bover\b|overflow|beyond|above|surpass|maxim|\bmax|limit|at most|up to|\bonly\b|range|less than|fewer|below|under\b|between|reduce|shorten|truncat|does(n't| not) fit|can(not|'t) fit|\bfull\b|enough|out of|[<>≤]|超|过长|最大|上限|大于|越|超え|長すぎ|초과|превы|слишком|überschr|zu lang|excede|supera|dépass|demasiado|trop`)
	tooMuch     = regexp.MustCompile(`request[^.;]{0,24}(too (long|large|big)|\bsize)|(context|prompt|\binput|conversation|\bmessages?|history|sequence|\btokens?)\b[^.;]{0,48}(too (long|large|big|many)|exceed|overflow|longer than|larger than|greater than|bigger than|\bfull\b|beyond|does(n't| not) fit|ran out|超|过长|过大)` +
		`|(exceed|overflow|too long|beyond|reduce|shorten|exhaust|larger than|longer than|greater than|bigger than|too many|ran out of|too large|fit)[^.;]{0,48}(context|prompt\b|\binput\b|window|conversation|\bmessages\b|\btokens?\b)` +
		`|(上下文|输入|提示词?)[^。]{0,24}(超|过长|过大|上限)|超[^。]{0,24}(上下文|长度)`)
)

// Tokens returns the approximate number of tokens of a request's texts, for [Refusal.Tokens].
func Tokens(req *agent.Request) int {
	n := tokencount.Estimate(req.System)
	for i := range req.Tools {
		n += tokencount.Estimate(req.Tools[i].Description) + len(req.Tools[i].Schema)/4
	}
	for i := range req.Messages {
		n += partsTokens(req.Messages[i].Parts)
	}
	return n
}

func partsTokens(parts []agent.Part) int {
	n := 4
	for _, p := range parts {
		switch p := p.(type) {
		case agent.Text:
			n += tokencount.Estimate(p.Text)
		case agent.Thinking:
			n += tokencount.Estimate(p.Text)
		case agent.ToolCall:
			n += tokencount.Estimate(string(p.Args))
		case agent.ToolResult:
			n += partsTokens(p.Parts)
		case agent.Image:
			n += 1500
		case agent.Opaque:
			n += len(p.Data) / 4
		}
	}
	return n
}
