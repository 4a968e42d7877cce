package transformer

// ForwardHidden is Forward without the output matrix: for the wanted tokens there are hidden
// states, to be had from Hidden, instead of logits.
func (n *Network) ForwardHidden(c *Cache, slices []Slice) error {
	n.pass.bare = true
	return n.forward(c, slices)
}

// Hidden returns the i-th wanted row of the last pass as it is after the last norm, Hyper.Embed
// numbers: what the output matrix makes logits of. It is valid until the next pass.
func (n *Network) Hidden(i int) []float32 { return n.pass.in.F32(i) }
