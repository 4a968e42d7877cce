package transformer

// ForwardHidden is like Forward, without the output matrix. There are no logits, and Hidden returns
// the hidden states of the wanted tokens.
func (n *Network) ForwardHidden(c *Cache, slices []Slice) error {
	n.pass.bare = true
	return n.forward(c, slices)
}

// Hidden returns the i-th wanted row of the last pass after the last norm, Hyper.Embed numbers. Its
// product with the output matrix would be the logits. It is valid until the next pass.
func (n *Network) Hidden(i int) []float32 { return n.pass.in.F32(i) }
