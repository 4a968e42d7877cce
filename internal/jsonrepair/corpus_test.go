package jsonrepair

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type corpusRow struct {
	ID, Kind, Input string
	Core, Reject    bool
	Expected        json.RawMessage
	Schema          json.RawMessage
}

func corpus(t testing.TB) []corpusRow {
	t.Helper()
	f, err := os.Open("../../../shared/tools-dev/jsonrepair.jsonl")
	if err != nil {
		t.Skip("the corpus of malformed calls is not here: ", err)
	}
	defer f.Close()
	var rows []corpusRow
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var r corpusRow
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

func TestCorpusX(t *testing.T) {
	n, ok := map[string]int{}, map[string]int{}
	for _, r := range corpus(t) {
		if r.Schema != nil {
			continue
		}
		k := r.Kind
		if r.Core {
			k += " core"
		}
		n[k]++
		res, err := Repair([]byte(r.Input))
		var got, want any
		json.Unmarshal(r.Expected, &want)
		if err != nil {
			t.Logf("%s %s ERR %v\n    in %q\n    want %s", r.ID, k, err, clipx(r.Input), clipx(string(r.Expected)))
			continue
		}
		json.Unmarshal(res.JSON, &got)
		if d := cmp.Diff(want, got); d != "" {
			t.Logf("%s %s WRONG\n   in %q\n   got %s\n   want %s\n notes %s", r.ID, k, clipx(r.Input), clipx(string(res.JSON)), clipx(string(r.Expected)), strings.Join(res.Notes, ";"))
		} else {
			ok[k]++
		}
	}
	t.Log(n, ok)
}

func clipx(s string) string {
	if len(s) > 300 {
		return s[:300]
	}
	return s
}
