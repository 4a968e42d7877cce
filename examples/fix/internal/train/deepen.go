package train

import "fmt"

// Deepen returns a model with more layers that computes the same results. The new layers are spread
// among the old ones and initially add nothing, like the layers of a new model (the identity
// initialisation of Net2Net, arXiv:1511.05641). The same seed results in the same model.
func (m *Model) Deepen(layers int, seed uint64) (*Model, error) {
	old := m.shape.Layers
	if layers < old {
		return nil, fmt.Errorf("train: deepen model: it has %d layers already, more than %d", old, layers)
	}
	shape := m.shape
	shape.Layers = layers
	out, err := New(shape, seed)
	if err != nil {
		return nil, err
	}
	perLayer := (len(m.layout.params) - 2) / max(1, old) // one parameter comes before the layers, and one after them
	for i := range m.layout.params {
		to := i
		switch layer := (i - 1) / perLayer; {
		case i == len(m.layout.params)-1:
			to = len(out.layout.params) - 1
		case i > 0 && old > 1:
			to = i + (layer*(layers-1)/(old-1)-layer)*perLayer
		}
		copy(out.values(&out.layout.params[to]), m.values(&m.layout.params[i]))
	}
	return out, nil
}
