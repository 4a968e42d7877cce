package edit

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/devdata"
)

// recorded is one record of the mutated edits kept next to the project. If Truth is nil, the edit
// has to be refused.
type recorded struct {
	ID, Kind, Content, Old, New string
	Truth                       *string
	AltTruth                    *string `json:"alt_truth"`
	MergeTruth                  *string `json:"merge_truth"`
}

// TestRecordedEdits makes the edits kept next to the project. Edits of a file that the user has
// changed are made again with the text that the model had seen.
//
// Evidence: edit · Edits that real models wrote apply
func TestRecordedEdits(t *testing.T) {
	f, err := os.Open(devdata.Path(t, "tools-dev/edit-mutations.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 64<<20)
	by := map[string]*tally{}
	should, right := 0, 0
	for sc.Scan() {
		var c recorded
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if by[c.Kind] == nil {
			by[c.Kind] = &tally{}
		}
		got := c.try(t, by[c.Kind])
		if c.Truth != nil {
			should++
			right += got
		}
		if c.MergeTruth != nil {
			c.tryMerge(t)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(by)) {
		t.Logf("%-40s %4d made %4d refused %4d wrong %4d", k, by[k].n(), by[k].right, by[k].refused, by[k].wrong)
	}
	t.Logf("%.1f%% of what should be made", 100*float64(right)/float64(should))
	if 100*right < 92*should {
		t.Errorf("made %d of %d", right, should)
	}
}

// try makes one edit and counts the outcome; it returns 1 if the edit is right.
func (c *recorded) try(t *testing.T, k *tally) int {
	r, err := Replace(c.Content, Replacement{Old: c.Old, New: c.New})
	switch {
	case err != nil:
		k.refused++
		if c.Truth != nil {
			t.Logf("%s %s: %v", c.ID, c.Kind, err)
		}
		return 0
	case c.Truth != nil && r.Content == *c.Truth, c.AltTruth != nil && r.Content == *c.AltTruth:
		k.right++
		return 1
	}
	k.wrong++
	t.Errorf("%s %s: wrong, by %s", c.ID, c.Kind, r.Strategy)
	return 0
}

// tryMerge makes the edit with the text from before the user changed one of its lines.
func (c *recorded) tryMerge(t *testing.T) {
	lines, old := strings.Split(c.Content, "\n"), strings.Split(c.Old, "\n")
	for i := 0; i+len(old) <= len(lines); i++ {
		same := 0
		for j := range old {
			if lines[i+j] == old[j] {
				same++
			}
		}
		if same != len(old)-1 {
			continue
		}
		base := strings.Join(slices.Concat(lines[:i], old, lines[i+len(old):]), "\n")
		r, err := Replace(c.Content, Replacement{Old: c.Old, New: c.New, Base: base})
		if err != nil || r.Content != *c.MergeTruth {
			t.Errorf("%s: merged wrongly: %v", c.ID, err)
		}
		return
	}
	t.Errorf("%s: the text before the change cannot be told", c.ID)
}
