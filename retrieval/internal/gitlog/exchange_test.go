package gitlog_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular/regulartest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
)

// TestFIFOAmongObjects checks that reading the history ends when objects are FIFOs: go-git refuses
// them, and the git program, which waits for them, is ended when its time is over.
func TestFIFOAmongObjects(t *testing.T) {
	tier.Normal(t)
	for _, noGit := range []bool{true, false} {
		dir := regulartest.Repository(t)
		for _, pattern := range []string{"??/*", "pack/*"} {
			files, _ := filepath.Glob(filepath.Join(dir, ".git", "objects", pattern))
			for _, f := range files {
				for _, k := range regulartest.Kinds(t) {
					if k.Name == "FIFO" {
						regulartest.Place(t, f, k)
					}
				}
			}
		}
		regulartest.Within(t, func() {
			if _, err := gitlog.Open(context.Background(), dir, gitlog.Options{NoGit: noGit, Timeout: time.Second}); err != nil {
				t.Logf("without git %v: %v", noGit, err) // it may fail, and may also have an empty history
			}
		})
	}
}
