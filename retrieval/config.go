package retrieval

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Config says how a tree is indexed. The zero value is a good one.
type Config struct {
	// CacheDir is where indexes are kept; empty means a directory of the user's cache
	// (os.UserCacheDir). Where it cannot be written, the index is kept in memory.
	CacheDir string
	// Base is another tree that this one is a copy of, such as the workspace that a
	// sandbox was forked from. When it has an index, only what differs is indexed.
	Base string

	// Background makes Open return at once. Until the index is ready, Search looks
	// through the files as they are and says so by Hit.Why.
	Background bool
	// Watch keeps the index up to date by itself, as far as the system allows.
	Watch bool

	// Ignore has more patterns in the language of .gitignore for what is not indexed.
	Ignore []string
	// MaxFileSize in bytes: larger files are not indexed; 0 means 1 MiB.
	MaxFileSize int64
	// MaxFiles bounds the index; 0 means 200,000.
	MaxFiles int

	// WordsOnly makes only the index that Search needs: Grep then reads all files, and
	// what needs symbols answers with an error.
	WordsOnly bool
	// NoHistory leaves the git log alone.
	NoHistory bool
	// GitDir and Head are for trees that are no work tree of git: the repository to read
	// and the commit whose ancestors count. Empty means what dir has.
	GitDir, Head string

	// Parser finds definitions and references; nil means one in pure Go.
	Parser Parser
	// Embedder adds its vectors to the ranking. They are made in the background after
	// Open and kept; what has none yet is found by words.
	Embedder Embedder

	// Logger is told when indexing in the background fails; nil means nobody, see also
	// [Index.Status].
	Logger *slog.Logger

	// Progress is told how far Open and the first map are, if they take long enough to
	// notice. It is called from one goroutine at a time.
	Progress func(Progress)
}

// Progress tells how far indexing is.
type Progress struct {
	Stage      string // "scan", "index", "history", "symbols", "trigrams", "embed", "map"
	Files      int    // or commits; done
	TotalFiles int    // 0 while that is not known
	Bytes      int64
	TotalBytes int64
}

// home is the directory that holds all of a tree's indexes.
func (c *Config) home(dir string) (string, error) {
	base := c.CacheDir
	if base == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			cache = filepath.Join(os.TempDir(), fmt.Sprintf("luthier-%d", os.Getuid()))
		}
		base = filepath.Join(cache, "luthier", "retrieval")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		real = dir // a base that is gone may have left its index
	}
	sum := sha256.Sum256([]byte(real))
	return filepath.Join(base, filepath.Base(real)+"-"+hex.EncodeToString(sum[:8])), nil
}

// ignored are the patterns of what is not indexed: those given, and the directory of
// indexes where that lies within the tree. An index that took its own files for changes
// would never come to rest.
func (c *Config) ignored(dir, home string) []string {
	out := slices.Clip(c.Ignore)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return out
	}
	caches, err := filepath.Abs(filepath.Dir(home))
	if err != nil {
		return out
	}
	for up, below := caches, ""; ; up, below = filepath.Dir(up), filepath.Join(filepath.Base(up), below) {
		if p, err := filepath.EvalSymlinks(up); err == nil { // the rest is not made yet
			caches = filepath.Join(p, below)
			break
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	if caches == real {
		caches = filepath.Join(caches, filepath.Base(home))
	}
	rel, err := filepath.Rel(real, caches)
	if err != nil || !filepath.IsLocal(rel) {
		return out
	}
	return append(out, "/"+literal.Replace(filepath.ToSlash(rel))+"/")
}

// literal quotes what has a meaning in .gitignore.
var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, " ", `\ `)
