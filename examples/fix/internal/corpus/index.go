package corpus

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// Index lists the functions of the corpus.
type Index struct {
	Train, HeldOut []Function

	// Numbers of functions that were left out of Train:
	Near  int // functions that nearly repeat a held-out function
	Twice int // functions that are equal, token by token, to an earlier function
}

// Build reads the sources and lists their functions, in the order of the sources. It keeps all
// held-out functions. Of the other functions, it drops those that nearly repeat a held-out function
// or equal an earlier one.
func Build(ctx context.Context, sources []Source) (*Index, error) {
	scanned := make([][]scannedFunction, len(sources))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range sources {
		g.Go(func() error {
			for f, text := range Scan(s) {
				scanned[i] = append(scanned[i], scannedFunction{f, text})
				if ctx.Err() != nil {
					return ctx.Err()
				}
			}
			if len(scanned[i]) == 0 {
				return fmt.Errorf("corpus: scan %s: there are no functions under %s", s.Path, s.Dir)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	x := &Index{}
	var held Near
	for i, s := range sources {
		for _, f := range scanned[i] {
			if s.Split == HeldOut {
				held.Add(f.text)
				x.HeldOut = append(x.HeldOut, f.Function)
			}
		}
	}
	near := make([][]bool, len(sources))
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range sources {
		g.Go(func() error {
			near[i] = make([]bool, len(scanned[i]))
			for j, f := range scanned[i] {
				near[i][j] = s.Split == Train && held.Has(f.text)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	seen := map[uint64]bool{}
	for i, s := range sources {
		if s.Split != Train {
			continue
		}
		for j, f := range scanned[i] {
			h := exact(f.text)
			switch {
			case near[i][j]:
				x.Near++
			case seen[h]:
				x.Twice++
			default:
				x.Train = append(x.Train, f.Function)
			}
			seen[h] = true
		}
	}
	return x, nil
}

type scannedFunction struct {
	Function
	text string
}

// WriteFunctions writes functions as JSON lines.
func WriteFunctions(path string, fs []Function) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("corpus: write functions: %w", err)
	}
	w := bufio.NewWriter(f)
	e := json.NewEncoder(w)
	for _, fn := range fs {
		if err := e.Encode(fn); err != nil {
			return errors.Join(fmt.Errorf("corpus: write functions: %w", err), f.Close())
		}
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		return fmt.Errorf("corpus: write functions: %w", err)
	}
	return nil
}

// ReadFunctions reads what WriteFunctions wrote.
func ReadFunctions(path string) ([]Function, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("corpus: read functions: %w", err)
	}
	defer f.Close()
	var fs []Function
	for d := json.NewDecoder(bufio.NewReader(f)); ; {
		var fn Function
		switch err := d.Decode(&fn); {
		case err == io.EOF:
			return fs, nil
		case err != nil:
			return nil, fmt.Errorf("corpus: read functions: %s: entry %d: %w", path, len(fs), err)
		}
		fs = append(fs, fn)
	}
}
