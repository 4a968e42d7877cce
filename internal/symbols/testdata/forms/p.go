package p

// Max is.
const Max = 3

const (
	a, b = iota, 1 // c
	_    = 2
)

var x, y int

// S is.
//
// More.
type S[T any, K comparable] struct {
	A int
	B map[string]func(x Thing) Other
}

type (
	// I is.
	I interface {
		Do(n int) error
		fmt.Stringer
	}
	Alias = S[int, string]
	fn    func(a, b int) (c error)
)

// Run runs.
func (s *S[T, K]) Run(ctx context.Context, // why
	b int,
) (err error) {
	type local struct{}
	f := func() {}
	f()
	return s.helper(new(Thing), Call[int](1), []Elem{{}}, v.(Asserted))
}

func main() { pkg.Func() }
