package vectors

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// wordVector is an embedder that needs no model: it counts letters.
func wordVector(_ context.Context, texts []string) ([][]float32, error) {
	var all [][]float32
	for _, t := range texts {
		v := make([]float32, 32)
		for _, c := range []byte(t) {
			v[c%32]++
		}
		all = append(all, v)
	}
	return all, nil
}

func texts(n int) (keys []Key, text func(int) (string, error)) {
	for i := range n {
		keys = append(keys, KeyOf(fmt.Sprintf("text %d", i)))
	}
	return keys, func(i int) (string, error) { return fmt.Sprintf("text %d", i), nil }
}

// TestFill computes vectors, once for each text, with several workers, and reports its progress.
func TestFill(t *testing.T) {
	s := open(t, file(t))
	keys, text := texts(500)
	set := s.Select(append(keys, keys[:20]...))
	var calls, asked atomic.Int64
	var last Progress
	cfg := FillConfig{Batch: 7, Workers: 3, Progress: func(p Progress) { last = p }, Embed: func(ctx context.Context, texts []string) ([][]float32, error) {
		calls.Add(1)
		asked.Add(int64(len(texts)))
		return wordVector(ctx, texts)
	}}
	got, err := set.Fill(t.Context(), text, cfg)
	if err != nil {
		t.Fatal(err)
	}
	want := Progress{Total: 500, Added: 500}
	if d := cmp.Diff([]Progress{want, want}, []Progress{got, last}); d != "" {
		t.Error(d)
	}
	if asked.Load() != 500 || calls.Load() != 72 {
		t.Errorf("%d texts in %d calls", asked.Load(), calls.Load())
	}
	if got, err = set.Fill(t.Context(), text, cfg); err != nil || got != (Progress{}) || asked.Load() != 500 {
		t.Errorf("filling what is full: %+v, %v", got, err)
	}
	if st := s.Status(); st.Rows != 500 {
		t.Errorf("%+v", st)
	}
}

type refusal struct{ error }

func (refusal) Refused() bool { return true }

// TestFillSkips checks that texts that cannot be read or embedded are skipped, and no others.
func TestFillSkips(t *testing.T) {
	s := open(t, "")
	keys, plain := texts(100)
	gone := errors.New("the file is gone")
	text := func(i int) (string, error) {
		if i == 30 {
			return "", gone
		}
		if i == 31 {
			return " \n", nil
		}
		return plain(i)
	}
	set := s.Select(keys)
	got, err := set.Fill(t.Context(), text, FillConfig{Batch: 16, Embed: func(ctx context.Context, texts []string) ([][]float32, error) {
		for _, x := range texts {
			if strings.HasSuffix(x, "7") {
				return nil, fmt.Errorf("wrapped: %w", refusal{errors.New("no sevens")})
			}
		}
		return wordVector(ctx, texts)
	}})
	if err != nil || got.Total != 100 || got.Added != 88 || got.Skipped != 12 || got.Err == nil {
		t.Errorf("%+v, %v", got, err)
	}
	missing, err := set.Missing()
	if d := cmp.Diff([]int{7, 17, 27, 30, 31, 37, 47, 57, 67, 77, 87, 97}, missing); d != "" || err != nil {
		t.Error(d, err)
	}
}

// TestFillGoesOn checks that Fill stops on an error or when it is cancelled, keeps the vectors it
// has, and continues from there the next time.
func TestFillGoesOn(t *testing.T) {
	path := file(t)
	keys, text := texts(200)
	down := errors.New("the server is down")
	n := 0
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("the host closes")
	embed := func(ctx context.Context, texts []string) ([][]float32, error) {
		switch n++; n {
		case 4:
			return nil, down
		case 9:
			cancel(stop)
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		return wordVector(ctx, texts)
	}
	s, err := Open(path, Config{Model: "test 1"})
	if err != nil {
		t.Fatal(err)
	}
	cfg := FillConfig{Batch: 10, Embed: embed}
	if got, err := s.Select(keys).Fill(t.Context(), text, cfg); !errors.Is(err, down) || got.Added != 30 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err := s.Select(keys).Fill(ctx, text, cfg); !errors.Is(err, stop) || got.Added != 40 {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	if got, err := s.Select(keys).Fill(t.Context(), text, cfg); err != nil || got != (Progress{Total: 130, Added: 130}) {
		t.Fatalf("%+v, %v", got, err)
	}
}

// TestFillGivesUp checks that Fill ends long before trying every text if every text is refused.
func TestFillGivesUp(t *testing.T) {
	s := open(t, "")
	keys, text := texts(5000)
	calls := 0
	got, err := s.Select(keys).Fill(t.Context(), text, FillConfig{Batch: 16, Embed: func(context.Context, []string) ([][]float32, error) {
		calls++
		return nil, refusal{errors.New("no such model")}
	}})
	if err == nil || !strings.Contains(err.Error(), "no such model") || got.Added != 0 || calls > 100 {
		t.Errorf("%+v after %d calls: %v", got, calls, err)
	}
}

// TestFillRefuses: invalid results of an embedder end Fill with an error.
func TestFillRefuses(t *testing.T) {
	s := open(t, "")
	keys, text := texts(20)
	for name, embed := range map[string]func(context.Context, []string) ([][]float32, error){
		"too few": func(context.Context, []string) ([][]float32, error) { return [][]float32{{1, 2}}, nil },
		"two sizes": func(_ context.Context, x []string) ([][]float32, error) {
			return append(make([][]float32, len(x)-1), []float32{1}), nil
		},
		"zeros": func(_ context.Context, x []string) ([][]float32, error) {
			all, err := wordVector(context.Background(), x)
			clear(all[1])
			return all, err
		},
	} {
		if got, err := s.Select(keys).Fill(t.Context(), text, FillConfig{Batch: 5, Embed: embed}); err == nil || got.Added != 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestPace checks the rate limit: the tenth batch may not begin earlier than the rate allows after
// nine batches.
func TestPace(t *testing.T) {
	p := newPace(1000)
	begin := time.Now()
	for range 10 {
		if err := p.wait(t.Context(), 5); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begin); took < 45*time.Millisecond {
		t.Errorf("50 at 1000 a second took %v", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p.take(100_000)
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := p.wait(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was cancelled gave %v", err)
	}
}
