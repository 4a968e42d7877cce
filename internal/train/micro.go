package train

// micro is the sequences of one forward and backward pass, end to end.
type micro struct {
	tokens []int32 // of all sequences
	places []int32 // of each token within its sequence
	starts []int32 // where each sequence starts; one more for the end

	rows    []int32   // tokens whose successor counts
	targets []int32   // those successors
	gains   []float32 // and their weights
	owners  []int32   // and the sequences they are of
	states  []answer  // of each sequence
}

// answer is whether a sequence's decisions were all hit.
type answer uint8

const (
	answerNone  answer = iota // no decision so far
	answerRight               // all of them
	answerWrong               // not all
)

func (b *micro) reset() {
	b.tokens, b.places = b.tokens[:0], b.places[:0]
	b.starts = append(b.starts[:0], 0)
	b.rows, b.targets, b.gains = b.rows[:0], b.targets[:0], b.gains[:0]
	b.owners, b.states = b.owners[:0], b.states[:0]
}

func (b *micro) add(s Sequence) {
	first := int32(len(b.tokens))
	for i, t := range s.Tokens {
		b.tokens, b.places = append(b.tokens, t), append(b.places, int32(i))
		if i > 0 && s.Weights[i] != 0 {
			b.rows = append(b.rows, first+int32(i)-1)
			b.targets = append(b.targets, t)
			b.gains = append(b.gains, s.Weights[i])
			b.owners = append(b.owners, int32(len(b.states)))
		}
	}
	b.starts = append(b.starts, int32(len(b.tokens)))
	b.states = append(b.states, answerNone)
}

func (b *micro) len() int { return len(b.tokens) }

// grow returns a slice of n elements whose contents are undefined, x's memory where that is enough.
func grow[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n, n+n/4)
	}
	return x[:n]
}

// zeros returns a slice of n zeros, in x's memory where that is enough.
func zeros[T any](x []T, n int) []T {
	x = grow(x, n)
	clear(x)
	return x
}
