package ranking

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
	"github.com/luthier-dev/luthier/retrieval/internal/postings"
	"github.com/luthier-dev/luthier/retrieval/internal/words"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// A tree maps paths to the texts of files.
type tree map[string]string

// small is a tree in which every field and class of files occurs.
var small = tree{
	"src/server/http.go":      "package server\n\n// Listen waits for connections and hands them over.\nfunc Listen(addr string) error {\n\treturn accept(addr, \"tcp socket\")\n}\n\nfunc accept(addr, kind string) error { return nil }\n",
	"src/server/timeout.go":   "package server\n\n// Timeout ends connections that wait too long.\ntype Timeout struct { limit int }\n\nfunc (t *Timeout) Expire() { t.limit = 0 }\n",
	"src/config/load.go":      "package config\n\n// LoadConfig reads settings.\nfunc LoadConfig(path string) (*Config, error) { return parseFile(path) }\n\ntype Config struct { Timeout int }\n",
	"src/server/http_test.go": "package server\n\nfunc TestListen(t *testing.T) { Listen(\"socket\"); accept(\"timeout\", \"connections\") }\n",
	"docs/guide.md":           "# Timeout of connections\n\nHow to set the timeout of a server's connections in the config.\n",
	"examples/echo/main.go":   "package main\n\nfunc main() { server.Listen(\":80\") }\n",
	"config.yaml":             "timeout: 30\naddr: localhost\n",
}

// index makes one segment from the named files of a tree.
func (tr tree) index(t testing.TB, names []string) Segment {
	t.Helper()
	b := postings.NewBuilder()
	x := NewIndexer(b)
	var table []Info
	for _, name := range names {
		n := x.Add(name, []byte(tr[name]))
		table = append(table, Info{Path: name, Class: worktree.Classify(name, []byte(tr[name])), Lines: n})
	}
	lex, err := postings.Open(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return Segment{Lex: lex, Sizes: SizesOf(lex), Info: table}
}

func (tr tree) names() []string { return slices.Sorted(maps.Keys(tr)) }

// segments splits the tree into n segments.
func (tr tree) segments(t testing.TB, n int) (segs []Segment) {
	names := tr.names()
	var tables [][]Info
	for i := range n {
		s := tr.index(t, names[i*len(names)/n:(i+1)*len(names)/n])
		segs, tables = append(segs, s), append(tables, s.Info)
	}
	shares := SharesOf(tables...)
	for _, s := range segs {
		shares.Set(s.Info)
	}
	return segs
}

// show returns a ranking's paths and scores.
func show(k *Ranking) (out []string) {
	for i := range k.Files {
		out = append(out, fmt.Sprintf("%s %.4f", k.Path(&k.Files[i]), k.Files[i].Score))
	}
	return out
}

const question = "Timeout of connections is ignored by Listen\n\nThe server in src/server/http.go:4 waits; `LoadConfig` reads the socket's timeout."

// TestScoreByHand counts words file by file and chunk by chunk, without an index, and compares the
// sums.
func TestScoreByHand(t *testing.T) {
	q := Parse(question)
	r := score(q, small.segments(t, 1))
	names := small.names()

	// Words per file, chunk and field.
	type counts map[string]*[NumFields]float64
	add := func(c counts, term string, f postings.Field) {
		if c[term] == nil {
			c[term] = new([NumFields]float64)
		}
		c[term][f]++
	}
	files, chunks := make([]counts, len(names)), [][]counts{}
	var lengths [][NumFields]float64
	var split words.Splitter
	for i, name := range names {
		var x words.Lexer
		text := x.Read(words.LangOf(name), []byte(small[name]))
		files[i] = counts{}
		var of []counts
		for j, c := range text.Chunks {
			here := counts{}
			put := func(term string, f postings.Field) { add(files[i], term, f); add(here, term, f) }
			if j == 0 {
				EachTerm(name, &split, func(t []byte) { put(string(t), Path) })
			}
			for _, k := range text.Tokens[c.Tokens[0]:c.Tokens[1]] {
				f := [...]postings.Field{Body, Comments, Strings, Definitions}[k.Kind]
				split.Split(k.Of([]byte(small[name])), func(t []byte) { put(string(t), f) })
			}
			of = append(of, here)
		}
		chunks = append(chunks, of)
		var l [NumFields]float64
		for _, n := range files[i] {
			for f := range n {
				l[f] += n[f]
			}
		}
		lengths = append(lengths, l)
	}
	weighted := func(n [NumFields]float64) (s float64) {
		for f, v := range n {
			s += v * min(float64(fieldWeight[f]), 1)
		}
		return s
	}
	var mean [NumFields]float64
	var meanFile, meanChunk, numChunks float64
	for i := range names {
		for f := range mean {
			mean[f] += lengths[i][f] / float64(len(names))
		}
		meanFile += weighted(lengths[i]) / float64(len(names))
		numChunks += float64(len(chunks[i]))
	}
	meanChunk = meanFile * float64(len(names)) / numChunks
	bm25 := func(n, k1, norm float64) float64 { return n * (k1 + 1) / (n + k1*norm) }

	compared := 0
	for i, name := range names {
		var all, title, def, inPath, cover float64
		best := 0.0
		byChunk := make([]float64, len(chunks[i]))
		for _, term := range q.Terms {
			df, dfc := 0.0, 0.0
			for j := range files {
				if files[j][term.Text] != nil {
					df++
				}
				for _, c := range chunks[j] {
					if c[term.Text] != nil {
						dfc++
					}
				}
			}
			n := files[i][term.Text]
			if n == nil {
				continue
			}
			idf := math.Log(1 + (float64(len(names))-df+0.5)/(df+0.5))
			idfC := math.Log(1 + (numChunks-dfc+0.5)/(dfc+0.5))
			w := float64(max(term.W[Words], term.W[Names], quotedShare*term.W[Quoted]))
			sum := func(n *[NumFields]float64) (s float64) {
				for f, v := range n {
					s += v * float64(fieldWeight[f])
				}
				return s
			}
			sat := idf * bm25(sum(n), 1.2, 0.4+0.6*weighted(lengths[i])/meanFile)
			all += w * sat
			title += float64(term.W[Title]) * sat
			cover += w * idf
			def += w * idf * bm25(n[Definitions], 1.2, 0.7+0.3*lengths[i][Definitions]/max(mean[Definitions], 1))
			inPath += w * idf * bm25(n[Path], 1.2, 0.7+0.3*lengths[i][Path]/max(mean[Path], 1))
			for j, c := range chunks[i] {
				if m := c[term.Text]; m != nil {
					var l [NumFields]float64
					for _, v := range c {
						for f := range v {
							l[f] += v[f]
						}
					}
					byChunk[j] += w * idfC * bm25(sum(m), 1.5, 0.6+0.4*weighted(l)/max(meanChunk, 1))
				}
			}
		}
		for _, v := range byChunk {
			best = max(best, v)
		}
		slot := r.sums[0].slot[i]
		if slot == 0 {
			if all != 0 {
				t.Errorf("%s was not found, though its words weigh %v", name, all)
			}
			continue
		}
		got := r.sums[0].rows[slot-1]
		for k, want := range map[list]float64{allWords: all, allTitle: title, defWords: def, pathWords: inPath, coverWords: cover, bestChunk: best} {
			if math.Abs(float64(got[k])-want) > 1e-4*(1+want) {
				t.Errorf("%s: list %d is %v, by hand %v", name, k, got[k], want)
			}
			compared++
		}
	}
	if compared < 30 {
		t.Errorf("only %d sums compared", compared)
	}
}

// TestSegmentsMakeNoDifference checks that the answer does not depend on how a tree is split into
// segments, and that repeated searches return the same.
func TestSegmentsMakeNoDifference(t *testing.T) {
	want := show(Rank(Parse(question), small.segments(t, 1), nil, Learned(), nil))
	if len(want) < 5 || !strings.HasPrefix(want[0], "src/server/") {
		t.Errorf("%q", want)
	}
	for n := 1; n <= len(small); n++ {
		for range 3 {
			if d := cmp.Diff(want, show(Rank(Parse(question), small.segments(t, n), nil, Learned(), nil))); d != "" {
				t.Errorf("in %d segments (-one +many):\n%s", n, d)
			}
		}
	}
}

// TestPlaces checks that the order of the places does not depend on the segments either.
func TestPlaces(t *testing.T) {
	var want []string
	for n := 1; n <= 3; n++ {
		k := Rank(Parse(question), small.segments(t, n), nil, Learned(), nil)
		var got []string
		for _, p := range k.Places(Learned(), nil) {
			got = append(got, fmt.Sprintf("%s:%d-%d %s %.3f", k.Path(&k.Files[p.File]), p.Start, p.End, k.Title(&p), p.Score))
		}
		if n == 1 {
			want = slices.Clone(got)
		}
		slices.Sort(got)
		if d := cmp.Diff(slices.Sorted(slices.Values(want)), got); d != "" {
			t.Errorf("in %d segments:\n%s", n, d)
		}
	}
	if len(want) < 5 || !strings.HasPrefix(want[0], "src/") {
		t.Errorf("%q", want)
	}
}

// TestDeadFiles: a dead file is never a result, by whatever way it could be found.
func TestDeadFiles(t *testing.T) {
	segs := small.segments(t, 2)
	dead := "src/server/timeout.go"
	for i := range segs {
		table := segs[i].Info
		segs[i].Live = func(f uint32) bool { return table[f].Path != dead }
		for j := range table {
			table[j].Churn = 1
		}
	}
	for _, name := range show(Rank(Parse(question), segs, nil, Learned(), map[string]float64{dead: 5})) {
		if strings.HasPrefix(name, dead) {
			t.Errorf("%s was found", name)
		}
	}
	segs[0].Live, segs[1].Live = nil, nil
	if all := strings.Join(show(Rank(Parse(question), segs, nil, Learned(), nil)), "\n"); !strings.Contains(all, dead) {
		t.Errorf("%s is not found when it lives", dead)
	}
}

// TestAlso checks that the caller's additional scores find files without a word of the query, and
// rank files higher.
func TestAlso(t *testing.T) {
	segs := small.segments(t, 1)
	k := Rank(Parse("zzz"), segs, nil, Learned(), map[string]float64{"config.yaml": 50})
	if len(k.Files) != 1 || k.Path(&k.Files[0]) != "config.yaml" || k.Files[0].Score < 30 {
		t.Errorf("%q", show(k))
	}
	if k := Rank(Parse("zzz"), segs, nil, Learned(), nil); len(k.Files) != 0 {
		t.Errorf("%q", show(k))
	}
	k = Rank(Parse(question), segs, nil, Learned(), nil)
	k.Boost(func(path string) float64 {
		if path == "docs/guide.md" {
			return 100
		}
		return 0
	})
	if k.Path(&k.Files[0]) != "docs/guide.md" {
		t.Errorf("%q", show(k))
	}
	k.Keep(func(path string) bool { return strings.HasPrefix(path, "src/") })
	for _, s := range show(k) {
		if !strings.HasPrefix(s, "src/") {
			t.Errorf("%s was kept", s)
		}
	}
}

// TestLog checks that files that were changed by commits with matching messages are found even if
// they contain no query word.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git %v: %v %s", args, err, out)
		}
	}
	git("init", "-q")
	for name, text := range small {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("add", ".")
	git("commit", "-qm", "first")
	if err := os.WriteFile(filepath.Join(dir, "src/config/load.go"), []byte(small["src/config/load.go"]+"// more\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git("commit", "-qam", "Mend the zebra gizmo")
	opened, err := gitlog.Open(context.Background(), dir, gitlog.Options{Tokenizer: LogWords, TokenizerKey: TokenizerKey})
	if err != nil {
		t.Fatal(err)
	}
	log := NewLog(opened)
	segs := small.segments(t, 2)
	for _, s := range segs {
		log.Set(s.Info)
		for _, f := range s.Info {
			if !f.Logged || f.Churn <= 0 || f.Churn > 1 || f.Recent <= 0 || f.Recent > 1 {
				t.Errorf("%+v", f)
			}
		}
	}
	k := Rank(Parse("zebra gizmos"), segs, log, Learned(), nil)
	if len(k.Files) == 0 || k.Path(&k.Files[0]) != "src/config/load.go" {
		t.Errorf("%q", show(k))
	}
	checkFeatures(t, k)
	if NewLog(nil) != nil {
		t.Error("a log of nothing")
	}
	(*Log)(nil).Set(segs[0].Info)
	if segs[0].Info[0].Logged {
		t.Error("a file is in no log")
	}
}

// checkFeatures checks that features have plausible values.
func checkFeatures(t testing.TB, k *Ranking) {
	t.Helper()
	for i := range k.Files {
		for j, v := range k.Files[i].x {
			if v != v || v < 0 || v > 4 {
				t.Fatalf("%s: the feature %q is %v", k.Path(&k.Files[i]), featureNames[j], v)
			}
		}
	}
	for _, p := range k.Places(Learned(), nil) {
		for j, v := range p.x {
			// The amount by which a file's score is lower than the best is not bounded.
			if v != v || math.IsInf(float64(v), 0) || placeFeature(j) != pFile && (v < 0 || v > 4) {
				t.Fatalf("%s:%d: the feature %q is %v", k.Path(&k.Files[p.File]), p.Start, placeNames[j], v)
			}
		}
		if p.Score != p.Score {
			t.Fatalf("a score is no number")
		}
	}
}

// FuzzRank ranks random trees for random queries.
func FuzzRank(f *testing.F) {
	f.Add(question, uint64(1))
	f.Add("", uint64(2))
	f.Add("func\n\n```\na.go:1\n```", uint64(3))
	f.Add(longIssue, uint64(4))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if len(text) > 1<<12 {
			text = text[:1<<12]
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		alphabet := append(strings.Fields(text), "func", "class", "timeout", "\n", "{", "}", "//", "\"", "a_b", "fileName")
		tr := tree{}
		for range rng.IntN(8) {
			var b strings.Builder
			for range rng.IntN(200) {
				b.WriteString(alphabet[rng.IntN(len(alphabet))])
				b.WriteByte(" \n"[rng.IntN(2)])
			}
			name := [...]string{"", "src/", "tests/", "a/b/", "docs/"}[rng.IntN(5)] + [...]string{"main", "timeout", "a_test", "index", "__init__", "x.d"}[rng.IntN(6)] + [...]string{".go", ".py", ".ts", ".md", ".h", ""}[rng.IntN(6)]
			tr[name] = b.String()
		}
		segs := tr.segments(t, 1+rng.IntN(3))
		for i := range segs {
			for j := range segs[i].Info {
				segs[i].Info[j].Churn = float32(rng.IntN(3)) / 2
			}
		}
		k := Rank(Parse(text), segs, nil, Learned(), nil)
		checkFeatures(t, k)
		seen := map[string]bool{}
		for i := range k.Files {
			if name := k.Path(&k.Files[i]); seen[name] {
				t.Fatalf("%s was found twice", name)
			} else {
				seen[name] = true
			}
			if i > 0 && k.Files[i].Score > k.Files[i-1].Score {
				t.Fatal("the files are in no order")
			}
		}
		if d := cmp.Diff(show(k), show(Rank(Parse(text), segs, nil, Learned(), nil)), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("a second answer differs:\n%s", d)
		}
	})
}

func BenchmarkRank(b *testing.B) {
	tr := tree{}
	root := filepath.Join(runtime.GOROOT(), "src", "net")
	err := filepath.WalkDir(root, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(name) != ".go" {
			return err
		}
		src, err := os.ReadFile(name)
		rel, _ := filepath.Rel(root, name)
		tr[filepath.ToSlash(rel)] = string(src)
		return err
	})
	if err != nil || len(tr) == 0 {
		b.Skip("no source of Go's library")
	}
	segs := tr.segments(b, 3)
	q := Parse(longIssue)
	b.ReportAllocs()
	for b.Loop() {
		Rank(q, segs, nil, Learned(), nil).Places(Learned(), nil)
	}
}

// TestEqualsAreRankedByPath checks that if more files are equal than are examined, the same ones
// are found whatever the segments and their order.
func TestEqualsAreRankedByPath(t *testing.T) {
	many := tree{}
	for i := range 3 * perList {
		many[fmt.Sprintf("d%d/f%04d.go", i%7, i)] = "package p\n\n// walrus dives\nfunc walrus() {}\n"
	}
	var want []string
	for n := range 6 {
		segs := many.segments(t, n+1)
		if n%2 == 1 {
			slices.Reverse(segs)
		}
		got := show(Rank(Parse("walrus dives"), segs, nil, Learned(), nil))
		if n == 0 {
			want = got
		}
		if d := cmp.Diff(want, got); d != "" || len(got) < perList {
			t.Errorf("%d segments, %d files (-one +many):\n%s", n+1, len(got), d)
		}
	}
}
