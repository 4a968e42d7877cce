package edit

import (
	"bufio"
	"encoding/json"
	"os"
	"sort"
	"testing"
)

// devCase is one record of the mutated edits kept beside the project.
type devCase struct {
	ID, Kind, Lang, Content, Old, New string
	Truth                             *string
	AltTruth                          *string `json:"alt_truth"`
	ExpandTruth                       *string `json:"expand_truth"`
	MergeTruth                        *string `json:"merge_truth"`
}

func TestDevData(t *testing.T) {
	f, err := os.Open("../../../shared/tools-dev/edit-mutations.jsonl")
	if err != nil {
		t.Skipf("no development data beside the project: %v", err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 64<<20)
	type tally struct{ n, right, rejected, wrong int }
	by := map[string]*tally{}
	for sc.Scan() {
		var c devCase
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		k := by[c.Kind]
		if k == nil {
			k = &tally{}
			by[c.Kind] = k
		}
		k.n++
		r, err := Replace(c.Content, Replacement{Old: c.Old, New: c.New})
		switch {
		case err != nil:
			k.rejected++
			if c.Truth != nil && testing.Verbose() && c.Kind != "typo_in_old" {
				t.Logf("%s %s: %v", c.ID, c.Kind, err)
			}
		case c.Truth != nil && r.Content == *c.Truth, c.AltTruth != nil && r.Content == *c.AltTruth:
			k.right++
		default:
			k.wrong++
			t.Errorf("%s %s: wrong, by %s", c.ID, c.Kind, r.Strategy)
		}
	}
	kinds := []string{}
	for k := range by {
		kinds = append(kinds, k)
	}
	sort.Strings(kinds)
	for _, k := range kinds {
		t.Logf("%-40s %3d right %3d rejected %3d wrong %3d", k, by[k].n, by[k].right, by[k].rejected, by[k].wrong)
	}
}
