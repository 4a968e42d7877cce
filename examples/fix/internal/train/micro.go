package train

// micro holds the sequences of one forward and backward pass, end to end.
type micro struct {
	tokens  []int32 // of all sequences
	places  []int32 // position of each token within its sequence
	starts  []int32 // start of each sequence; one more for the end
	prompts []int32 // by sequence: end of the prompt that all answers see; for a sequence without answers, its start
	froms   []int32 // for each token, the start of its answer or its sequence

	rows    []int32   // tokens whose next token has a weight
	targets []int32   // those next tokens
	weights []float32 // weights of those next tokens
	gains   []float32 // factors of their gradients
	owners  []int32   // sequences that they belong to
	states  []answer  // of each sequence
	lists   []list    // lists of answers from which one is chosen
}

// list holds the answers of one sequence.
type list struct {
	rows []int32 // start of each answer's rows; one more for the end
}

// answer is the state of the decisions of a sequence.
type answer uint8

const (
	answerNone  answer = iota // no decisions so far
	answerRight               // all were right
	answerWrong               // not all were right
)

func (b *micro) reset() {
	b.tokens, b.places, b.froms = b.tokens[:0], b.places[:0], b.froms[:0]
	b.starts, b.prompts = append(b.starts[:0], 0), b.prompts[:0]
	b.rows, b.targets, b.weights, b.gains = b.rows[:0], b.targets[:0], b.weights[:0], b.gains[:0]
	b.owners, b.states, b.lists = b.owners[:0], b.states[:0], b.lists[:0]
}

func (b *micro) add(s Sequence) {
	first, prompt := int32(len(b.tokens)), int32(s.prompt())
	from, next := first, 0
	var of list
	for i, t := range s.Tokens {
		if next < len(s.Answers) && int32(i) == s.Answers[next] {
			from = first + int32(i)
			of.rows = append(of.rows, int32(len(b.rows)))
			next++
		}
		place := first + int32(i) - from
		if next > 0 {
			place += prompt
		}
		b.tokens, b.places, b.froms = append(b.tokens, t), append(b.places, place), append(b.froms, from)
		if i > 0 && s.Weights[i] != 0 {
			b.rows = append(b.rows, first+int32(i)-1)
			b.targets = append(b.targets, t)
			b.weights, b.gains = append(b.weights, s.Weights[i]), append(b.gains, s.Weights[i])
			b.owners = append(b.owners, int32(len(b.states)))
		}
	}
	if len(s.Answers) > 0 && !s.Apart {
		of.rows = append(of.rows, int32(len(b.rows)))
		b.lists = append(b.lists, of)
	}
	b.starts, b.prompts = append(b.starts, int32(len(b.tokens))), append(b.prompts, first+prompt)
	b.states = append(b.states, answerNone)
}

func (b *micro) len() int { return len(b.tokens) }

// grow returns a slice of n elements with undefined contents. It reuses x's memory if that is large
// enough.
func grow[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n, n+n/4)
	}
	return x[:n]
}

// zeros returns a slice of n zeros. It reuses x's memory if that is large enough.
func zeros[T any](x []T, n int) []T {
	x = grow(x, n)
	clear(x)
	return x
}
