package transformer

// ForwardHidden is Forward without the output matrix. For the wanted tokens, Hidden returns hidden
// states; there are no logits.
func (n *Network) ForwardHidden(c *Cache, slices []Slice) error {
	n.pass.bare = true
	return n.forward(c, slices)
}

// Hidden returns the i-th wanted row of the last pass after the last norm, Hyper.Embed numbers. The
// output matrix would turn it into logits. It is valid until the next pass.
func (n *Network) Hidden(i int) []float32 { return n.pass.in.F32(i) }
