package jsonrepair

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/devdata"
)

type corpusRow struct {
	ID, Kind, Input string
	Core            bool
	Expected        json.RawMessage
	Schema          json.RawMessage
}

// cutOff reports, without using the repairer, whether a text ends inside a string, object or list,
// or in the middle of a number or literal: the model was stopped there, so the text must not be
// completed.
func cutOff(s string) bool {
	s = strings.TrimSpace(s)
	depth, inString := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return inString || depth > 0 || depth == 0 && !strings.ContainsAny(s, "{[") && cutShort(s)
}

// TestCorpus repairs real malformed calls collected from the tests of other libraries. At least 95
// % of the complete core rows must be repaired. Rows whose text was cut off must be refused,
// although the other libraries complete them.
//
// Evidence: tools · Malformed arguments are repaired
func TestCorpus(t *testing.T) {
	f, err := os.Open(devdata.Path(t, "tools-dev/jsonrepair.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	whole, mended, cut := 0, 0, 0
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var r corpusRow
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Schema != nil || r.Kind == "schema-guided" {
			continue
		}
		res, err := Repair([]byte(r.Input))
		re, _ := errors.AsType[*Error](err)
		if cutOff(r.Input) && !endsWhole(r.Input) {
			cut++
			if err == nil {
				t.Errorf("%s: %q was cut off, and was mended to %s", r.ID, r.Input, res.JSON)
			}
			continue
		}
		if !r.Core || cutOff(r.Input) && re != nil && re.Kind == Truncated {
			continue
		}
		whole++
		var got, want any
		if err == nil {
			if json.Unmarshal(res.JSON, &got) != nil || json.Unmarshal(r.Expected, &want) != nil {
				t.Fatal(r.ID)
			}
		}
		if err == nil && reflect.DeepEqual(got, want) {
			mended++
		} else {
			t.Logf("%s: %q: %s %v, want %s", r.ID, r.Input, res.JSON, err, r.Expected)
		}
	}
	t.Logf("core rows that are whole: %d of %d mended; %d rows that were cut off", mended, whole, cut)
	if mended*100 < whole*95 {
		t.Errorf("%d of %d core rows mended; the bar is 95 %%", mended, whole)
	}
}

// endsWhole reports whether the end of a text looks like the end of a complete value. Quotes inside
// strings, and missing quotes, mislead cutOff, so such a text may either be repaired or refused.
func endsWhole(s string) bool {
	if strings.Count(s, "```") == 2 {
		return true
	}
	s = strings.TrimRight(strings.TrimSpace(s), ";,)` \n")
	return len(s) > 2 && strings.ContainsAny(s[len(s)-1:], `}]"'`)
}
