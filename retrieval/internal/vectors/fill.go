package vectors

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// FillConfig configures how missing vectors are computed.
type FillConfig struct {
	// Embed returns a vector for each text. If the error has a method Refused() bool that returns
	// true, one of the texts can never be embedded: the batch is halved until that text is alone,
	// and then the text is skipped. Any other error ends Fill, and so do many refusals in a row,
	// which indicate a different problem.
	Embed func(ctx context.Context, texts []string) ([][]float32, error)

	Batch    int            // texts per call of Embed; 0 means 64
	Workers  int            // concurrent calls of Embed; 0 means 1
	Rate     float64        // maximum number of texts per second; 0 means no limit
	Progress func(Progress) // called after each batch, from one goroutine at a time
}

// Progress counts texts; identical texts count once.
type Progress struct {
	Total   int   // texts without a vector at the start
	Added   int   // vectors computed and stored
	Skipped int   // texts that could not be read or embedded
	Err     error // reason why the first text was skipped
}

// Fill computes the set's missing vectors and appends them to its store. The function text returns
// a text by its number; if it returns an error, the text is skipped, since files may change while
// they are read.
//
// Fill returns when all is done, when ctx ends, or on the first error of Embed or of the store. The
// vectors computed until then are kept, and the next Fill continues from there. It can run at the
// same time as searches.
func (t *Set) Fill(ctx context.Context, text func(id int) (string, error), cfg FillConfig) (Progress, error) {
	missing, err := t.Missing()
	if err != nil {
		return Progress{}, err
	}
	if len(missing) == 0 {
		return Progress{}, nil
	}
	if err := t.store.ready(); err != nil {
		return Progress{}, err
	}
	if cfg.Batch < 1 {
		cfg.Batch = 64
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := &filler{set: t, cfg: cfg, text: text, fail: cancel, pace: newPace(cfg.Rate), progress: Progress{Total: len(missing)}}
	batches := make(chan []int)
	var wg sync.WaitGroup
	for range max(1, cfg.Workers) {
		wg.Go(func() { f.work(ctx, batches) })
	}
	for len(missing) > 0 && ctx.Err() == nil {
		n := min(cfg.Batch, len(missing))
		select {
		case batches <- missing[:n]:
			missing = missing[n:]
		case <-ctx.Done():
		}
	}
	close(batches)
	wg.Wait()
	if ctx.Err() != nil {
		return f.progress, fmt.Errorf("vectors: fill: %w", context.Cause(ctx))
	}
	return f.progress, t.store.Tidy(ctx)
}

// filler is a running Fill.
type filler struct {
	set  *Set
	cfg  FillConfig
	text func(id int) (string, error)
	fail func(error) // ends the filling
	pace *pace

	refused  atomic.Int64 // texts refused since the last successful one
	mu       sync.Mutex
	progress Progress
}

// maxRefused is the number of texts in a row that may be refused.
const maxRefused = 32

// work computes the vectors of batches until there are no more.
func (f *filler) work(ctx context.Context, batches <-chan []int) {
	for ids := range batches {
		var keys []Key
		var texts []string
		for _, id := range ids {
			if ctx.Err() != nil {
				return
			}
			text, err := f.text(id)
			if err == nil && strings.TrimSpace(text) == "" {
				err = errors.New("the text is empty")
			}
			if err != nil {
				f.count(0, fmt.Errorf("text %d: %w", id, err))
				continue
			}
			keys, texts = append(keys, f.set.keys[id]), append(texts, text)
		}
		if err := f.batch(ctx, keys, texts); err != nil {
			f.fail(err)
			return
		}
	}
}

// batch computes the vectors of some texts. If one is refused, it tries fewer texts at a time.
func (f *filler) batch(ctx context.Context, keys []Key, texts []string) error {
	if len(texts) == 0 {
		return nil
	}
	if err := f.pace.wait(ctx, len(texts)); err != nil {
		return err
	}
	vectors, err := f.cfg.Embed(ctx, texts)
	if err == nil {
		if len(vectors) != len(texts) {
			return fmt.Errorf("the embedder gave %d vectors for %d texts", len(vectors), len(texts))
		}
		if err := f.set.store.Append(keys, vectors); err != nil {
			return err
		}
		f.refused.Store(0)
		f.count(len(texts), nil)
		return nil
	}
	if r, ok := errors.AsType[interface {
		error
		Refused() bool
	}](err); !ok || !r.Refused() {
		return err
	}
	if len(texts) == 1 {
		f.count(0, err)
		if f.refused.Add(1) > maxRefused {
			return fmt.Errorf("%d texts in a row were refused: %w", maxRefused, err)
		}
		return nil
	}
	half := len(texts) / 2
	if err := f.batch(ctx, keys[:half], texts[:half]); err != nil {
		return err
	}
	return f.batch(ctx, keys[half:], texts[half:])
}

// count reports that the given number of vectors was stored, or that a text was skipped.
func (f *filler) count(added int, skipped error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.progress.Added += added
	if skipped != nil {
		f.progress.Skipped++
		if f.progress.Err == nil {
			f.progress.Err = skipped
		}
	}
	if f.cfg.Progress != nil {
		f.cfg.Progress(f.progress)
	}
}
