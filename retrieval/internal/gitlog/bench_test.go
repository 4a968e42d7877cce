package gitlog_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
)

var benchRepos = []string{"astropy+astropy", "sveltejs+svelte"}

// BenchmarkGitLog measures the time git alone takes for the commits that BenchmarkCold reads.
func BenchmarkGitLog(b *testing.B) {
	for _, name := range benchRepos {
		b.Run(name, func(b *testing.B) {
			dir := mirror(b, name)
			for b.Loop() {
				cmd := exec.Command("git", "--git-dir", dir, "log", "-z", "--raw", "--no-abbrev", "--no-renames",
					"--diff-merges=first-parent", "-n20000", "--format=%H%x00%P%x00%ct%x00%B%x00", "HEAD", "--")
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCold reads, cleans and tokenises 20,000 commits and writes the cache.
func BenchmarkCold(b *testing.B) {
	for _, name := range benchRepos {
		b.Run(name, func(b *testing.B) {
			dir := mirror(b, name)
			b.ReportAllocs()
			i := 0
			top := b.TempDir()
			for b.Loop() {
				i++
				l := open(b, dir, gitlog.Options{GitDir: dir, CacheDir: filepath.Join(top, fmt.Sprint(i))})
				b.ReportMetric(float64(l.Status().Read), "commits")
			}
		})
	}
}

// BenchmarkWarm opens from the cache, and builds the index of messages.
func BenchmarkWarm(b *testing.B) {
	for _, name := range benchRepos {
		b.Run(name, func(b *testing.B) {
			dir := mirror(b, name)
			o := gitlog.Options{GitDir: dir, CacheDir: b.TempDir()}
			open(b, dir, o)
			before := heap()
			l := open(b, dir, o)
			l.Prepare()
			b.ReportAllocs()
			after := heap()
			for b.Loop() {
				open(b, dir, o).Prepare()
			}
			b.ReportMetric(float64(after-before)/1e6, "MB")
			l.Prepare()
		})
	}
}

// BenchmarkIncremental reads ten commits that the cache does not have.
func BenchmarkIncremental(b *testing.B) {
	for _, name := range benchRepos {
		b.Run(name, func(b *testing.B) {
			dir := mirror(b, name)
			hashes, err := exec.Command("git", "--git-dir", dir, "rev-list", "--first-parent", "-n12", "HEAD").Output()
			if err != nil {
				b.Fatal(err)
			}
			old := strings.Fields(string(hashes))[5]
			o := gitlog.Options{GitDir: dir, CacheDir: b.TempDir(), Head: old}
			open(b, dir, o)
			file := filepath.Join(o.CacheDir, firstName(b, o.CacheDir))
			saved, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			o.Head = ""
			read := 0
			for b.Loop() {
				b.StopTimer()
				if err := os.WriteFile(file, saved, 0o600); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				read = open(b, dir, o).Status().Read
			}
			b.ReportMetric(float64(read), "commits")
		})
	}
}

func firstName(tb testing.TB, dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		tb.Fatal("no cache", err)
	}
	return entries[0].Name()
}

const benchQuery = `TimeSeries: misleading exception when required column check fails. For a TimeSeries object that has
additional required columns in addition to time, when codes mistakenly try to remove a required column, the exception
it produces is misleading. The expected behavior is an exception that informs users required columns are missing. The
actual message is confusing: expected time as the first columns but found time. How to reproduce: from astropy.time
import Time, from astropy.timeseries import TimeSeries, time equals Time of numpy arange, flux equals array, remove
column flux raises ValueError. System details windows python numpy astropy scipy matplotlib versions of everything`

// BenchmarkSearch scores commits and files for a query of about a hundred words.
func BenchmarkSearch(b *testing.B) {
	for _, name := range benchRepos {
		b.Run(name, func(b *testing.B) {
			dir := mirror(b, name)
			l := open(b, dir, gitlog.Options{GitDir: dir})
			words := gitlog.Words(benchQuery)
			l.Prepare()
			for name, score := range map[string]func(){
				"commits": func() { l.ScoreFiles(words, gitlog.Params{}) },
				"texts":   func() { l.ScoreTexts(words, nil) },
			} {
				b.Run(name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						score()
					}
					b.ReportMetric(float64(len(words)), "words")
					b.ReportMetric(float64(l.Len()), "commits")
				})
			}
		})
	}
}
