package dataset_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/luthier-dev/luthier/examples/fix/internal/dataset"
)

func Example() {
	dir, err := os.MkdirTemp("", "dataset")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "train.set")

	w, err := dataset.Create(path, 2048)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Abort() // does nothing after Close
	// Learn to predict 1300 and 7 from the tokens before them.
	err = w.Write(dataset.Example{Kind: dataset.KindRead, Tokens: []uint16{17, 1300, 7}, Weights: []uint8{0, 100, 5}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
		return
	}

	set, err := dataset.Load(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set.Vocab, set.Examples)
	// Output: 2048 [{2 [17 1300 7] [0 100 5]}]
}
