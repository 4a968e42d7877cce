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

// Config configures the index of a tree. The zero value is a sensible default.
type Config struct {
	// CacheDir is the directory where indexes are kept; empty means a directory of the user's cache
	// (os.UserCacheDir). If the directory is not writable, the index is kept in memory.
	CacheDir string
	// Base is the directory of the original of which this tree is a copy, such as the workspace
	// that a sandbox was forked from. If Base has an index, only the differences are indexed.
	// [OpenTree] finds the origin of a fork without it.
	Base string
	// Temporary removes the index from the disk when it is closed, such as that of a fork that is
	// dropped afterwards.
	Temporary bool

	// Background makes Open return at once. Until the index is ready, Search reads the files
	// directly and says so in Hit.Why.
	Background bool
	// Watch keeps the index up to date automatically, if the system supports it. A tree without a
	// path is scanned every 30 seconds instead.
	Watch bool

	// Ignore lists additional patterns, in the language of .gitignore, for files that are not
	// indexed.
	Ignore []string
	// MaxFileSize is the size in bytes above which files are not indexed; 0 means 1 MiB.
	MaxFileSize int64
	// MaxFiles limits the number of indexed files; 0 means 200,000.
	MaxFiles int

	// WordsOnly builds only the index that Search needs: Grep then reads all files, and functions
	// that need symbols return an error.
	WordsOnly bool
	// NoHistory ignores the git log.
	NoHistory bool
	// GitDir and Head are for trees that are not git work trees: the repository to read, or its
	// work tree, and the commit whose ancestors count. If they are empty, the repository and HEAD
	// of the tree are used; [OpenTree] then reads no git log.
	GitDir, Head string

	// Parser finds definitions and references; nil means the parser in pure Go.
	Parser Parser
	// Embedder adds its vectors to the ranking. They are computed in the background after Open and
	// kept; chunks without a vector yet are found only by words.
	Embedder Embedder

	// Logger receives failures of indexing in the background; nil logs nothing. See also
	// [Index.Status].
	Logger *slog.Logger

	// Progress is called with the progress of Open and of the first map, if they take long enough
	// to notice. It is called from one goroutine at a time.
	Progress func(Progress)
}

// Progress describes the progress of indexing.
type Progress struct {
	Stage      string // "scan", "index", "history", "symbols", "trigrams", "embed", "map"
	Files      int    // files (or commits) done
	TotalFiles int    // 0 while not known
	Bytes      int64
	TotalBytes int64
}

// homes returns the directory of the indexes of all trees.
func (c *Config) homes() string {
	if c.CacheDir != "" {
		return c.CacheDir
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = filepath.Join(os.TempDir(), fmt.Sprintf("luthier-%d", os.Getuid()))
	}
	return filepath.Join(cache, "luthier", "retrieval")
}

// home returns the directory that holds all indexes of a tree.
func (c *Config) home(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		real = dir // a deleted base may have left its index
	}
	sum := sha256.Sum256([]byte(real))
	return filepath.Join(c.homes(), filepath.Base(real)+"-"+hex.EncodeToString(sum[:8])), nil
}

// ignored returns the patterns of files that are not indexed: the configured ones, and the
// directory of indexes if it lies inside the tree. Otherwise the index would take its own files for
// changes and never settle.
func (c *Config) ignored(dir, home string) []string {
	out := slices.Clip(c.Ignore)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return out
	}
	caches, err := resolved(filepath.Dir(home))
	if err != nil {
		return out
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

// resolved returns the absolute path without symbolic links of a directory that may not exist yet.
func resolved(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for up, below := dir, ""; ; up, below = filepath.Dir(up), filepath.Join(filepath.Base(up), below) {
		if p, err := filepath.EvalSymlinks(up); err == nil {
			return filepath.Join(p, below), nil
		}
		if up == filepath.Dir(up) {
			return dir, nil
		}
	}
}

// literal escapes characters with a special meaning in .gitignore.
var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, " ", `\ `)
