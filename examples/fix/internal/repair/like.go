package repair

import (
	"cmp"
	"go/ast"
	"go/token"
	"math"
	"slices"
	"strings"
)

// Limits of [Names.Like].
const (
	maxLike       = 8   // lines
	maxLikeBytes  = 330 // of all lines
	maxLikeLine   = 100 // bytes
	minLikeTokens = 4   // shorter lines resemble too many others
	likeEach      = 2   // number of lines that may resemble the same line
)

// A kinLine is a line of a function in the form in which it is compared with lines of other
// functions.
type kinLine struct {
	text, from string // from is the name of its function
	place      int32
	grams      []int32
	weight     float64 // total weight of its grams
}

// A kin indexes the lines of a package's functions by their tokens and pairs of tokens, here called
// grams.
type kin struct {
	ids   map[string]int32
	lines []kinLine
	posts [][]int32 // by gram, the lines that contain it
	rare  []float64 // by gram, the gram's weight
}

// grams returns the grams of a line, each once. Unknown grams are added if add is true, and left
// out otherwise.
func (k *kin) grams(line string, add bool) []int32 {
	tokens := strings.Split(strings.TrimSuffix(Tokens(line), "\x00"), "\x00")
	if len(tokens) < minLikeTokens {
		return nil
	}
	var out []int32
	take := func(s string) {
		id, ok := k.ids[s]
		if !ok {
			if !add {
				return
			}
			id = int32(len(k.ids))
			k.ids[s] = id
		}
		out = append(out, id)
	}
	for i, t := range tokens {
		take(t)
		if i > 0 {
			take(tokens[i-1] + "\x00" + t)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// takeLines adds the lines of the function that was last added as a place.
func (n *Names) takeLines(fset *token.FileSet, src []byte, d ast.Decl) {
	fn, ok := d.(*ast.FuncDecl)
	if !ok || fn.Body == nil {
		return
	}
	from, to := fset.PositionFor(fn.Pos(), false).Offset, fset.PositionFor(fn.End(), false).Offset
	if from < 0 || to > len(src) || from > to { // the end is a guess of the parser, for broken code
		return
	}
	seen := map[string]bool{}
	for i, l := range strings.Split(string(src[from:to]), "\n") {
		if l = bare(l); i == 0 || len(l) > maxLikeLine || seen[l] {
			continue
		}
		seen[l] = true
		if g := n.kin.grams(l, true); g != nil {
			n.kin.lines = append(n.kin.lines, kinLine{text: l, from: fn.Name.Name, place: int32(len(n.places) - 1), grams: g})
		}
	}
}

// bare returns a line without its indentation and trailing comment.
func bare(l string) string {
	l = strings.TrimSpace(l)
	if strings.HasPrefix(l, "//") {
		return ""
	}
	if i := strings.LastIndex(l, " //"); i > 0 && !strings.ContainsAny(l[i:], "\"`'") {
		l = strings.TrimSpace(l[:i])
	}
	return l
}

// finish sets the weights of grams by their rarity.
func (k *kin) finish() {
	k.posts, k.rare = make([][]int32, len(k.ids)), make([]float64, len(k.ids))
	for i, l := range k.lines {
		for _, g := range l.grams {
			k.posts[g] = append(k.posts[g], int32(i))
		}
	}
	for g, p := range k.posts {
		k.rare[g] = math.Log(1 + float64(len(k.lines))/float64(len(p)))
	}
	for i := range k.lines {
		k.lines[i].weight = k.weight(k.lines[i].grams)
	}
}

func (k *kin) weight(grams []int32) float64 {
	sum := 0.0
	for _, g := range grams {
		sum += k.rare[g]
	}
	return sum
}

// near calls the function each with the lines that share a gram with the given line, and with their
// similarity: the total weight of the grams in both lines divided by that of the grams in either.
// Grams that occur in almost every line are not looked up, but their weight counts.
func (k *kin) near(line string, shared map[int32]float64, each func(at int32, alike float64)) {
	const common = 400
	grams := k.grams(line, false)
	clear(shared)
	for _, g := range grams {
		if len(k.posts[g]) <= common {
			for _, at := range k.posts[g] {
				shared[at] += k.rare[g]
			}
		}
	}
	own := k.weight(grams)
	for at, s := range shared {
		each(at, s/(own+k.lines[at].weight-s))
	}
}

// A resemblance is a line of another function that is similar to a line of the function in
// question.
type resemblance struct {
	at    int32 // in kin.lines
	of    int   // number of the similar line in the function in question
	score float64
}

// Like returns lines of other functions of the package that are very similar to lines of a function
// that failing tests run, the most similar first, each prefixed with the name of its function and a
// tab. They show how the same is done elsewhere. Lines that also occur in f are left out.
func (n *Names) Like(f Function, marks []Mark) []string { return n.like(n.subject(f), marks) }

func (n *Names) like(s subject, marks []Mark) []string {
	const least, half = 0.25, 2 // half is the kinship at which a place has half of the maximum weight
	var all []resemblance
	lines := strings.Split(s.Text, "\n")
	known := known(marks)
	has, shared := map[string]bool{}, map[int32]float64{}
	for _, l := range lines {
		has[bare(l)] = true
	}
	for i, l := range lines {
		if i == 0 || known && markAt(marks, i) == NotRun {
			continue
		}
		n.kin.near(bare(l), shared, func(at int32, alike float64) {
			if k := &n.kin.lines[at]; alike >= least && k.place != s.place && !has[k.text] {
				all = append(all, resemblance{at, i, alike * (1 + s.kinship[k.place]/(s.kinship[k.place]+half))})
			}
		})
	}
	slices.SortFunc(all, func(a, b resemblance) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.at, b.at), cmp.Compare(a.of, b.of))
	})
	return n.kin.first(all)
}

// first returns the best lines that fit within the limits.
func (k *kin) first(all []resemblance) []string {
	var out []string
	taken, of, size := map[string]bool{}, map[int]int{}, 0
	for _, l := range all {
		line := &k.lines[l.at]
		text := line.from + "\t" + line.text
		if taken[line.text] || of[l.of] == likeEach || size+len(text)+1 > maxLikeBytes {
			continue
		}
		taken[line.text] = true
		of[l.of]++
		size += len(text) + 1
		if out = append(out, text); len(out) == maxLike {
			break
		}
	}
	return out
}
