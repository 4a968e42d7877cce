package gitlog

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/internal/atomicfile"
)

// cacheFile is the file that keeps the store of a repository between processes. Several processes
// may write it at once: each replaces the whole file, and every version is valid.
type cacheFile struct {
	path string
	data []byte // as on disk, without words of another tokenizer
}

// maxCache limits the size of a cache file that is read.
const maxCache = 1 << 30

// cachePath names the cache file after the directory that all work trees of a repository share.
func cachePath(dir string, r *repository) string {
	common := r.commonDir
	if real, err := filepath.EvalSymlinks(common); err == nil {
		common = real
	}
	sum := sha256.Sum256([]byte(common))
	return filepath.Join(dir, fmt.Sprintf("history-%x.log", sum[:12]))
}

// load returns the store in the file, or nil and the reason why there is none.
func (f *cacheFile) load(r *repository, tokenizerKey string) (*store, error) {
	if f.path == "" {
		return nil, nil
	}
	data, err := readSmall(f.path, maxCache)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s, kept, err := decodeStore(data, tokenizerKey)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: the log is read anew", err)
	case s.hashLen != r.hashLen:
		return nil, errors.New("the repository's hashes are of another kind: the log is read anew")
	case s.shallow != r.shallowKey():
		return nil, errors.New("the repository's history is cut off elsewhere: the log is read anew")
	}
	f.data = kept
	return s, nil
}

func (r *repository) shallowKey() string {
	if len(r.shallow) == 0 {
		return ""
	}
	h := sha256.New()
	for _, s := range r.shallow {
		h.Write([]byte(s))
	}
	return string(h.Sum(nil))
}

// save writes the additions to the store since it was loaded.
func (f *cacheFile) save(s *store, from marks) error {
	if f.path == "" {
		return nil
	}
	b := f.data
	if len(b) == 0 {
		b = append(b, magic...)
		b = appendFrame(b, frameMeta, encodeMeta(s))
	}
	before := len(b)
	if len(s.commits) > from.commits {
		b = appendFrame(b, frameBatch, encodeBatch(s, from.paths, from.commits))
	}
	if s.words.key != "" && len(s.words.of) > from.words {
		b = appendFrame(b, frameWords, encodeWords(&s.words, from.terms, from.words))
	}
	if len(b) == before || len(b) > maxCache {
		return nil
	}
	return replaceFile(f.path, b)
}

// marks record how much of a store is on disk.
type marks struct{ commits, paths, words, terms int }

func (s *store) marks() marks {
	return marks{len(s.commits), len(s.paths), len(s.words.of), len(s.words.terms)}
}

// replaceFile replaces a file atomically, even if the process or the machine crashes.
func replaceFile(path string, b []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	removeStale(dir)
	return atomicfile.WriteBytes(path, atomicfile.Options{Temp: tmpPrefix + "*", Sync: true}, b)
}

const (
	tmpPrefix = ".history-tmp-"
	// staleAfter is the age at which a file left by a killed process may be removed.
	staleAfter = time.Hour
)

func removeStale(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tmpPrefix) {
			continue
		}
		if fi, err := e.Info(); err == nil && time.Since(fi.ModTime()) > staleAfter {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
