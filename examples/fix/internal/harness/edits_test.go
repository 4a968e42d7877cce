package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/moe"
)

// drawn is one edit in an opinion, as a letter, or the error of drawing it.
type drawn struct {
	args   string
	chance float64
	err    error
}

func opinionOf(said ...drawn) *opinion {
	return &opinion{chance: map[string]float64{}, least: 1, draw: func(context.Context) (*moe.Answer, float64, error) {
		if len(said) == 0 {
			return nil, 0, io.EOF
		}
		d := said[0]
		said = said[1:]
		if d.err != nil {
			return nil, 0, d.err
		}
		return &moe.Answer{Chunks: []agent.Chunk{agent.ToolCallDelta{Args: d.args}}}, d.chance, nil
	}}
}

func editsOf(opinions ...*opinion) *edits {
	return &edits{opinions: opinions, answers: map[string]*moe.Answer{}, told: map[string]bool{}}
}

// tell returns all edits with their probabilities.
func tell(t *testing.T, e *edits) (out []string) {
	t.Helper()
	for {
		a, p, err := e.next(context.Background())
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %.3f", arguments(a), p))
	}
}

func TestEditsOfTwoOpinions(t *testing.T) {
	for _, tt := range []struct {
		name     string
		opinions []*opinion
		want     []string
	}{
		{"one model: as it lists them, what it repeats once",
			[]*opinion{opinionOf(drawn{args: "a", chance: 0.6}, drawn{args: "b", chance: 0.3}, drawn{args: "a", chance: 0.1})},
			[]string{"a 0.600", "b 0.300"}},
		{"what both hold likely comes before what one is sure of",
			[]*opinion{
				opinionOf(drawn{args: "a", chance: 0.8}, drawn{args: "b", chance: 0.15}, drawn{args: "c", chance: 0.05}),
				opinionOf(drawn{args: "b", chance: 0.7}, drawn{args: "c", chance: 0.2}, drawn{args: "a", chance: 0.1}),
			},
			[]string{"b 0.425", "a 0.450", "c 0.125"}},
		{"what one has not drawn counts half of the least that it has",
			[]*opinion{ // x: 0.3 × 0.1; y: 0.04 × 0.5; z: 0.2 × 0.2
				opinionOf(drawn{args: "x", chance: 0.3}, drawn{args: "z", chance: 0.2}, drawn{args: "w", chance: 0.08}),
				opinionOf(drawn{args: "y", chance: 0.5}, drawn{args: "z", chance: 0.2}),
			},
			[]string{"z 0.200", "x 0.150", "y 0.250", "w 0.040"}},
		{"one that holds nothing leaves the other's order",
			[]*opinion{opinionOf(), opinionOf(drawn{args: "b", chance: 0.7}, drawn{args: "a", chance: 0.3})},
			[]string{"b 0.350", "a 0.150"}},
		{"neither holds anything", []*opinion{opinionOf(), opinionOf()}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tell(t, editsOf(tt.opinions...))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestEditsAreNotToldAgain checks that a second opinion that is added later, after the module has
// been learned, does not repeat edits that were tested.
func TestEditsAreNotToldAgain(t *testing.T) {
	e := editsOf(opinionOf(drawn{args: "a", chance: 0.6}, drawn{args: "b", chance: 0.3}, drawn{args: "c", chance: 0.1}))
	if a, _, err := e.next(context.Background()); err != nil || arguments(a) != "a" {
		t.Fatalf("first: %v, %v", a, err)
	}
	e.opinions = append(e.opinions, opinionOf(drawn{args: "a", chance: 0.5}, drawn{args: "c", chance: 0.4}, drawn{args: "b", chance: 0.05}))
	if diff := cmp.Diff([]string{"c 0.250", "b 0.175"}, tell(t, e)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestEditsAfterAnError checks that an interrupt loses nothing: the edits drawn before it are still
// there when the list is used again.
func TestEditsAfterAnError(t *testing.T) {
	stop := errors.New("stopped")
	e := editsOf(opinionOf(drawn{args: "a", chance: 0.5}, drawn{err: stop}, drawn{args: "b", chance: 0.3}), opinionOf(drawn{args: "b", chance: 0.9}))
	if _, _, err := e.next(context.Background()); !errors.Is(err, stop) {
		t.Fatalf("error %v, want %v", err, stop)
	}
	if diff := cmp.Diff([]string{"b 0.600", "a 0.250"}, tell(t, e)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestJointHasNoScale(t *testing.T) {
	tiny := math.SmallestNonzeroFloat64
	e := editsOf(opinionOf(drawn{args: "a", chance: tiny}, drawn{args: "b", chance: tiny}), opinionOf(drawn{args: "b", chance: 2e-300}, drawn{args: "a", chance: 1e-300}))
	if got := tell(t, e); len(got) != 2 || got[0][0] != 'b' {
		t.Errorf("%q, want b first: products of small probabilities are not nought", got)
	}
}
