package coding

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
)

const (
	tempPrefix = ".luthier-"
	tempSuffix = ".tmp"
	tempHex    = 16
	// A temporary file of another process may be in use; one older than this was left by a crash.
	tempAge = 10 * time.Minute
)

// tempName returns a name in the directory of rel for its next content or its backup. The name does
// not include rel's name, which may already have the maximum length. It is random but not secret:
// O_EXCL ensures that it is new.
func tempName(rel string) string {
	h := fnv.New32a()
	h.Write([]byte(rel))
	return path.Join(path.Dir(rel), fmt.Sprintf("%s%08x%08x%s", tempPrefix, h.Sum32(), rand.Uint32(), tempSuffix))
}

// isTempName reports whether a name (without directory) is that of a temporary file or a journal.
// Such files are invisible to the tools.
func isTempName(name string) bool {
	hex, ok := strings.CutPrefix(name, tempPrefix)
	if !ok {
		return false
	}
	if hex, ok = strings.CutSuffix(hex, tempSuffix); !ok {
		hex, ok = strings.CutSuffix(hex, undoSuffix)
	}
	return ok && len(hex) == tempHex && strings.Trim(hex, "0123456789abcdef") == ""
}

// sweeper removes the leftovers of crashes, once for every directory that is written to.
type sweeper struct {
	mu   sync.Mutex
	done map[string]bool
}

func (s *sweeper) first(dir string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done[dir] {
		return false
	}
	if s.done == nil {
		s.done = map[string]bool{}
	}
	s.done[dir] = true
	return true
}

// sweep removes old temporary files from dir. A failure does not affect the write that triggered
// it.
func (w opened) sweep(dir string) {
	if !w.sweeps.first(dir) {
		return
	}
	d, err := regular.OpenDirIn(w.root, dir)
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, n := range names {
		if !isTempName(n) || !strings.HasSuffix(n, tempSuffix) {
			continue
		}
		rel := path.Join(dir, n)
		if info, err := w.root.Lstat(rel); err == nil && info.Mode().IsRegular() && w.cfg.Clock().Sub(info.ModTime()) > tempAge {
			_ = w.root.Remove(rel)
		}
	}
}
