package transformer

import "fmt"

// Seq is the page table of one sequence. Its page i holds the tokens from i·PageTokens on. To
// truncate a sequence, reduce Len and release the pages that are no longer needed.
type Seq struct {
	Pages []int32
	Len   int // number of tokens whose keys and values are in the cache
}

// Slice is the part that one pass appends to a sequence.
type Slice struct {
	Seq     *Seq    // must have pages for all Tokens; only this sequence may have references to the pages that are written
	Tokens  []int32 // at least one
	Outputs int     // logits are wanted for the last Outputs tokens
}

// PagesFor returns the number of pages for n tokens.
func PagesFor(n int) int { return (n + PageTokens - 1) / PageTokens }

// checkSlices refuses slices that the pass could not compute, before anything is written.
func (n *Network) checkSlices(c *Cache, slices []Slice) (tokens, outputs int, err error) {
	for i := range slices {
		s := &slices[i]
		if s.Seq == nil || len(s.Tokens) == 0 {
			return 0, 0, fmt.Errorf("transformer: forward: slice %d has no tokens or no sequence", i)
		}
		if s.Outputs < 0 || s.Outputs > len(s.Tokens) {
			return 0, 0, fmt.Errorf("transformer: forward: slice %d wants %d outputs of %d tokens", i, s.Outputs, len(s.Tokens))
		}
		if err := n.checkTokens(i, s.Tokens); err != nil {
			return 0, 0, err
		}
		if err := c.checkSeq(i, s); err != nil {
			return 0, 0, err
		}
		for j := range i {
			if slices[j].Seq == s.Seq {
				return 0, 0, fmt.Errorf("transformer: forward: slices %d and %d append to one sequence; join their tokens", j, i)
			}
		}
		tokens += len(s.Tokens)
		outputs += s.Outputs
	}
	return tokens, outputs, nil
}

func (n *Network) checkTokens(i int, tokens []int32) error {
	for _, t := range tokens {
		if t < 0 || int(t) >= n.hyper.Vocab {
			return fmt.Errorf("transformer: forward: slice %d: token %d is outside the vocabulary of %d", i, t, n.hyper.Vocab)
		}
	}
	return nil
}

func (c *Cache) checkSeq(i int, s *Slice) error {
	end := s.Seq.Len + len(s.Tokens)
	if s.Seq.Len < 0 || end > len(s.Seq.Pages)*PageTokens {
		return fmt.Errorf("transformer: forward: slice %d ends at token %d, but its sequence has %d pages of %d", i, end, len(s.Seq.Pages), PageTokens)
	}
	for j, p := range s.Seq.Pages[:PagesFor(end)] {
		if p < 0 || int(p) >= len(c.refs) || c.refs[p] < 1 {
			return fmt.Errorf("transformer: forward: slice %d: page %d of its sequence is not allocated", i, j)
		}
		if j >= s.Seq.Len/PageTokens && c.refs[p] > 1 {
			return fmt.Errorf("transformer: forward: slice %d would write to page %d, which %d sequences share; copy it first", i, p, c.refs[p])
		}
	}
	return nil
}
