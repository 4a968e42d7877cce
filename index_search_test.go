package luthier_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/retrieval"
)

var shop = files{
	"go.mod":        "module example.org/shop\n",
	"cart/cart.go":  "package cart\n\n// Cart holds what a customer is about to buy.\ntype Cart struct{ lines []string }\n\n// AddItem puts an article into the cart.\nfunc (c *Cart) AddItem(sku string) {\n\tc.lines = append(c.lines, sku)\n}\n",
	"tax/vat.go":    "package tax\n\n// VAT is the value added tax of a country in percent.\nfunc VAT(country string) float64 {\n\tif country == \"DE\" {\n\t\treturn 19\n\t}\n\treturn 0\n}\n",
	"mail/retry.go": "package mail\n\nimport \"time\"\n\n// backoff waits longer after each failed delivery.\nfunc backoff(attempt int) time.Duration {\n\treturn time.Second << attempt\n}\n",
	"mail/win.txt":  "The courier\r\ncollects parcels\r\nat noon\r\n",
}

const vatShown = "tax/vat.go:3-9 VAT\n  3\t// VAT is the value added tax of a country in percent.\n  4\tfunc VAT(country string) float64 {\n" +
	"  5\t\tif country == \"DE\" {\n  6\t\t\treturn 19\n  7\t\t}\n  8\t\treturn 0\n  9\t}"

func TestSearch(t *testing.T) {
	w, x := openIndexed(t, retrieval.Config{}, shop)
	if d := cmp.Diff(vatShown, do(t, w, "search", args{"query": "value added tax of a country", "k": 1})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	contains(t, do(t, w, "search", args{"query": "courier parcels"}), "mail/win.txt:1-3\n  1\tThe courier\n  2\tcollects parcels\n  3\tat noon")
	contains(t, do(t, w, "search", args{"query": "zzzzz"}), "Nothing found", "try other words")
	refused(t, w, "search", args{"query": " "}, "empty")
	must(t, x.Close())
	refused(t, w, "search", args{"query": "cart"}, "closed", "use grep")
}

// TestSearchShownBefore: a place that a session was shown is not shown again unless it changed.
//
// Evidence: retrieval · The search tool leaves out what the session has seen
func TestSearchShownBefore(t *testing.T) {
	w, _ := openIndexed(t, retrieval.Config{}, shop)
	query := args{"query": "value added tax of a country", "k": 1}
	do(t, w, "search", query)
	again := do(t, w, "search", query)
	contains(t, again, "already shown: tax/vat.go:3-9")
	if strings.Contains(again, "return 19") {
		t.Errorf("shown twice:\n%s", again)
	}
	// The next best place is shown instead.
	both := do(t, w, "search", args{"query": "value added tax of a country, wait after a delivery", "k": 2})
	contains(t, both, "already shown: tax/vat.go:", "mail/retry.go:5-8 backoff\n")

	// After an edit the changed lines are shown again, whether the session made it or somebody
	// else. A change below them does not count.
	do(t, w, "edit", args{"path": "tax/vat.go", "old": "return 19", "new": "return 16"})
	contains(t, do(t, w, "search", query), "  6\t\t\treturn 16")
	vat := strings.ReplaceAll(shop["tax/vat.go"], "19", "21")
	must(t, os.WriteFile(filepath.Join(w.Dir(), "tax/vat.go"), []byte(vat), 0o644))
	contains(t, do(t, w, "search", query), "  6\t\t\treturn 21")
	must(t, os.WriteFile(filepath.Join(w.Dir(), "tax/vat.go"), []byte(vat+"\n// Nothing here.\nvar n int\n"), 0o644))
	below := do(t, w, "search", query)
	contains(t, below, "already shown: tax/vat.go:3-9")
	if strings.Contains(below, "Nothing found") {
		t.Errorf("what was shown takes the room of other places:\n%s", below)
	}

	// Search results count as read: a file that a search has shown in full may be replaced.
	refused(t, w, "write", args{"path": "mail/win.txt", "content": "Nobody\n"}, "not read yet")
	do(t, w, "search", args{"query": "courier parcels"})
	do(t, w, "write", args{"path": "mail/win.txt", "content": "Nobody\n"})

	read := args{"path": "cart/cart.go"}
	do(t, w, "read", read)
	contains(t, do(t, w, "search", args{"query": "put an article into the cart", "k": 1}), "already shown: cart/cart.go:3-9")
	if got := do(t, w, "read", read); !strings.Contains(got, "AddItem") {
		t.Errorf("read does not show again what was shown: %s", got)
	}
}

// forgetful is a compactor that keeps only the first message and the last exchange.
type forgetful struct{}

func (forgetful) Compact(_ context.Context, ms []agent.Message, _ int) ([]agent.Message, agent.CompactionReport, error) {
	return append(ms[:1:1], ms[len(ms)-2:]...), agent.CompactionReport{Before: len(ms), After: 3}, nil
}

// TestSearchInSessions runs real agents: what was shown to one session is still shown to another,
// and what a compaction removed from the history is shown again.
func TestSearchInSessions(t *testing.T) {
	w, _ := openIndexed(t, retrieval.Config{}, shop)
	ask := func(id string) agenttest.Turn {
		return agenttest.Call(id, "search", `{"query": "value added tax of a country", "k": 1}`)
	}
	s := agent.NewSession()
	got := runTools(t, w, s, ask("1"), ask("2"))
	contains(t, got[0].Text(), "return 19")
	contains(t, got[1].Text(), "already shown: tax/vat.go:3-9")
	contains(t, runTools(t, w, agent.NewSession(), ask("3"))[0].Text(), "return 19")

	ts, err := w.Tools()
	must(t, err)
	a, err := agent.New(agent.Config{Model: agenttest.Script(ask("4"), agenttest.Text("done")), Tools: ts, Compactor: forgetful{}, ContextBudget: 1})
	must(t, err)
	before := s.Epoch()
	must(t, s.Append(agent.UserText(strings.Repeat("words ", 200))))
	res, err := a.Run(t.Context(), s, agent.Text{Text: "go on"}).Collect()
	must(t, err)
	if s.Epoch() == before {
		t.Fatalf("the history was not rewritten: %+v", res)
	}
	var last agent.ToolResult
	for _, m := range s.Transcript() {
		if m.Role == agent.RoleTool {
			last = m.Parts[0].(agent.ToolResult)
		}
	}
	contains(t, last.Text(), "return 19")
}

// TestSearchNear checks that searches favour what a session works on: of two equally good files,
// the one next to a file it read.
func TestSearchNear(t *testing.T) {
	same := "package p\n\n// Lantern glows at dusk.\nfunc Lantern() {}\n"
	fs := files{"a/lantern.go": same, "z/lantern.go": same, "z/notes.go": "package p\n\n// Unrelated things.\nfunc other() {}\n"}
	w, _ := openIndexed(t, retrieval.Config{}, fs)
	query := args{"query": "lantern glows at dusk", "k": 1}
	contains(t, do(t, w, "search", query), "a/lantern.go:3-4")
	fresh, _ := openIndexed(t, retrieval.Config{}, fs)
	do(t, fresh, "read", args{"path": "z/notes.go"})
	contains(t, do(t, fresh, "search", query), "z/lantern.go:3-4")
}

// TestSearchFollowsTheTools changes files with every tool that can, and checks that the index
// follows. The index itself watches nothing.
func TestSearchFollowsTheTools(t *testing.T) {
	w, x := openIndexed(t, retrieval.Config{}, shop)
	settled(t, x)
	finds := func(query, want string) {
		t.Helper()
		if got := do(t, w, "search", args{"query": query, "k": 1}); !strings.HasPrefix(got, want) {
			t.Errorf("%q finds %s; want %s", query, got, want)
		}
	}
	finds("parachute packing", "Nothing found")
	do(t, w, "write", args{"path": "air/chute.go", "content": "package air\n\n// pack folds a parachute.\nfunc pack() {}\n"})
	finds("parachute packing", "air/chute.go:3-4")
	do(t, w, "edit", args{"path": "air/chute.go", "old": "folds a parachute", "new": "wraps the xylophone"})
	finds("xylophone", "air/chute.go:3-4")
	do(t, w, "apply_patch", args{"patch": "*** Begin Patch\n*** Update File: air/chute.go\n*** Move to: air/brass.go\n@@\n-// pack wraps the xylophone.\n+// pack polishes the trombone.\n*** End Patch\n"})
	finds("trombone", "air/brass.go:3-4")
	do(t, w, "apply_patch", args{"patch": "*** Begin Patch\n*** Delete File: air/brass.go\n*** End Patch\n"})
	finds("trombone", "Nothing found")
	if runtime.GOOS == "windows" {
		return
	}
	ts, err := w.Tools()
	must(t, err)
	i := slices.IndexFunc(ts, func(tool agent.Tool) bool { return tool.Spec().Name == "shell" })
	res, err := ts[i].Call(t.Context(), agent.ToolCall{ID: "1", Name: "shell", Args: []byte(`{"command": "mkdir -p gen && echo 'A kaleidoscope turns.' > gen/toy.md"}`)})
	must(t, err)
	if res.IsError {
		t.Fatal(res.Text())
	}
	finds("kaleidoscope", "gen/toy.md:1-1")
}

// TestSearchWhileIndexing searches while the index is held up in its first stage.
func TestSearchWhileIndexing(t *testing.T) {
	hold := make(chan struct{})
	release := sync.OnceFunc(func() { close(hold) })
	defer release()
	many := files{"tax/vat.go": shop["tax/vat.go"]}
	for i := range 300 {
		many[fmt.Sprintf("f/f%d.go", i)] = fmt.Sprintf("package f\n\nfunc F%d() {}\n", i)
	}
	cfg := retrieval.Config{Background: true, Progress: func(p retrieval.Progress) {
		if p.Stage == "index" {
			<-hold
		}
	}}
	w, x := openIndexed(t, cfg, many)
	query := args{"query": "value added tax of a country", "k": 1}
	contains(t, do(t, w, "search", query), "return 19", "\n(the index is still being made: found by plain search)")
	do(t, w, "edit", args{"path": "tax/vat.go", "old": "19", "new": "16"}) // the index receives this when it is ready
	release()
	settled(t, x)
	if got := do(t, w, "search", query); !strings.Contains(got, "return 16") || strings.Contains(got, "being made") {
		t.Errorf("with a whole index:\n%s", got)
	}
}

// long returns the source of a Go function of n lines.
func long(name, about string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// %s %s.\nfunc %s(x int) int {\n", name, about, name)
	for i := range n - 4 {
		fmt.Fprintf(&b, "\tx = step%d(x) + %d // %s\n", i, i, about)
	}
	return b.String() + "\treturn x\n}\n"
}

var shownLine = regexp.MustCompile(`^  (\d+)\t(.*)$`)

// TestSearchBudget checks answers with many long places: their size, that lines are whole and are
// where the answer says, and that the first place is the whole definition.
//
// Evidence: retrieval · Search answers keep to a budget
func TestSearchBudget(t *testing.T) {
	fs := files{}
	for i := range 20 {
		fs[fmt.Sprintf("pkg%d/file.go", i)] = fmt.Sprintf("package pkg%d\n\n", i) + long(fmt.Sprintf("Calibrate%d", i), "calibrates the telescope mirror", 40+5*i)
	}
	fs["wide.txt"] = strings.Repeat("telescope mirror calibration ", 300) + "\n"
	w, x := openIndexed(t, retrieval.Config{}, fs)
	for _, tc := range []struct{ k, limit int }{{0, 2500}, {1, 2500}, {3, 2500}, {20, 4000}} {
		clean := openAt(t, w.Dir(), onIndex(x))
		got := do(t, clean, "search", args{"query": "calibrate the telescope mirror", "k": tc.k})
		if n := (4*len(got) + 10) / 11; n > tc.limit {
			t.Errorf("k %d: about %d tokens, more than %d", tc.k, n, tc.limit)
		}
		if twin := do(t, openAt(t, w.Dir(), onIndex(x)), "search", args{"query": "calibrate the telescope mirror", "k": tc.k}); twin != got {
			t.Errorf("k %d: the same question has another answer:\n%s", tc.k, cmp.Diff(got, twin))
		}
		checkShown(t, fs, got)
	}
	head, _, _ := strings.Cut(do(t, w, "search", args{"query": "Calibrate1", "k": 1}), "\n")
	if head != "pkg1/file.go:3-47 Calibrate1" {
		t.Errorf("the best place is %s, not the whole definition", head)
	}
}

// checkShown compares every line of an answer with the file that the answer names.
func checkShown(t *testing.T, fs files, answer string) {
	t.Helper()
	var lines []string
	places := 0
	for line := range strings.SplitSeq(answer, "\n") {
		m := shownLine.FindStringSubmatch(line)
		if m == nil {
			if p, _, ok := strings.Cut(line, ":"); ok && fs[p] != "" {
				lines = strings.Split(fs[p], "\n")
				places++
			}
			continue
		}
		n, err := strconv.Atoi(m[1])
		must(t, err)
		if want, cut := lines[n-1], len(lines[n-1])-2000; cut > 0 {
			if head, note, ok := strings.Cut(m[2], "… ["); !ok || head != want[:2000] || !strings.HasSuffix(note, " more on this line]") {
				t.Errorf("line %d of %d bytes is cut to %q", n, len(want), m[2])
			}
		} else if m[2] != want {
			t.Errorf("line %d is shown as %q, it is %q", n, m[2], want)
		}
	}
	if places == 0 {
		t.Errorf("no places in:\n%s", answer)
	}
}

// TestSearchMergesPlaces checks that a definition that the index has split in two is shown whole,
// and once.
func TestSearchMergesPlaces(t *testing.T) {
	w, x := openIndexed(t, retrieval.Config{}, files{"p.go": "package p\n\n" + long("Anneal", "anneals", 66)})
	hits, err := x.Search(t.Context(), retrieval.Query{Text: "what anneals"})
	must(t, err)
	parts := slices.DeleteFunc(hits, func(h retrieval.Hit) bool { return h.Symbol != "Anneal" })
	if len(parts) != 2 {
		t.Fatalf("the index does not cut the function in two: %+v", parts)
	}
	got := do(t, w, "search", args{"query": "what anneals"})
	if head, _, _ := strings.Cut(got, "\n"); head != "p.go:3-68 Anneal" {
		t.Errorf("the first place is %s", head)
	}
	if n := strings.Count(got, "Anneal\n"); n != 1 {
		t.Errorf("the function is shown %d times:\n%s", n, got)
	}
}
