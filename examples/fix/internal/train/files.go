package train

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/examples/fix/internal/dataset"
)

// Examples is a Source of examples in memory, such as those of a dataset file.
type Examples []dataset.Example

// Len returns the number of examples.
func (e Examples) Len() int { return len(e) }

// Read copies example i to dst.
func (e Examples) Read(i int, dst *Sequence) {
	x := e[i]
	dst.Tokens, dst.Weights = dst.Tokens[:0], dst.Weights[:0]
	for j, t := range x.Tokens {
		dst.Tokens, dst.Weights = append(dst.Tokens, int32(t)), append(dst.Weights, float32(x.Weights[j])/100)
	}
}

// OpenData reads dataset files into memory. The parameter list has the form file:share,file:share…;
// the default share is 1. All files must have a vocabulary of vocab tokens; if vocab is 0, the
// number of the first file is used. OpenData also returns this number.
func OpenData(list string, vocab int) ([]Mixed, int, error) {
	var out []Mixed
	for _, item := range strings.Split(list, ",") {
		name, share, err := CutShare(item)
		if err != nil {
			return nil, 0, fmt.Errorf("train: open data: %w", err)
		}
		set, err := dataset.Load(name)
		if err != nil {
			return nil, 0, fmt.Errorf("train: open data: %w", err)
		}
		if vocab == 0 {
			vocab = set.Vocab
		}
		if set.Vocab != vocab {
			return nil, 0, fmt.Errorf("train: open data: %s has a vocabulary of %d tokens, not %d", name, set.Vocab, vocab)
		}
		out = append(out, Mixed{Source: Examples(set.Examples), Share: share, Name: name})
	}
	return out, vocab, nil
}

// CutShare splits file:share; the share is 1 if it is left out. A colon that is not followed by a
// number belongs to the name.
func CutShare(item string) (string, float64, error) {
	item = strings.TrimSpace(item)
	if i := strings.LastIndexByte(item, ':'); i > 0 {
		if share, err := strconv.ParseFloat(item[i+1:], 64); err == nil {
			if !(share > 0) {
				return "", 0, fmt.Errorf("%s: a share must be positive", item)
			}
			return item[:i], share, nil
		}
	}
	if item == "" {
		return "", 0, fmt.Errorf("an empty file name in the list of data")
	}
	return item, 1, nil
}

var kindNames = map[uint8]string{
	dataset.KindText: "text", dataset.KindRun: "run", dataset.KindRead: "read", dataset.KindEdit: "edit", dataset.KindCall: "call",
}

// OpenValidation reads dataset files for evaluation: one Validation for each kind of answer. The
// parameter tokens limits the number of tokens of each kind (0 means no limit). Examples longer
// than context are left out.
func OpenValidation(list string, vocab, context, tokens int) ([]Validation, error) {
	data, _, err := OpenData(list, vocab)
	if err != nil {
		return nil, err
	}
	var out []Validation
	index, used := map[uint8]int{}, map[uint8]int{}
	for _, d := range data {
		for i, e := range d.Source.(Examples) {
			if len(e.Tokens) > context || tokens > 0 && used[e.Kind] >= tokens {
				continue
			}
			used[e.Kind] += len(e.Tokens)
			at, ok := index[e.Kind]
			if !ok {
				at = len(out)
				name := kindNames[e.Kind]
				if name == "" {
					name = fmt.Sprintf("kind%d", e.Kind)
				}
				index[e.Kind], out = at, append(out, Validation{Name: name})
			}
			var s Sequence
			d.Source.Read(i, &s)
			if s.weight() > 0 {
				out[at].Sequences = append(out[at].Sequences, s)
			}
		}
	}
	return out, nil
}
