package applyplan

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var errThere = errors.New("something else is there")

// plan records the operations on steps. A step is a name, in capitals if the path does not exist
// afterwards.
func plan(log *[]string) *Plan[string] {
	note := func(what string) func(string) error {
		return func(s string) error {
			*log = append(*log, what+" "+s)
			if strings.HasPrefix(s, "bad-"+what) {
				return errors.New("no room")
			}
			return nil
		}
	}
	return &Plan[string]{
		Path:  func(s string) string { return s },
		Gone:  func(s string) bool { return s == strings.ToUpper(s) },
		Clear: note("clear"), Put: note("put"),
		Check: func(s string) (bool, error) {
			if strings.HasPrefix(s, "other") {
				return false, errThere
			}
			return s == "done", nil
		},
		Conflict: errThere, Remedy: "ask",
	}
}

func TestOrder(t *testing.T) {
	var log []string
	if err := plan(&log).Apply([]string{"a", "done", "GONE", "b"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"clear b", "clear GONE", "clear a", "put a", "put b"}
	if d := cmp.Diff(want, log); d != "" {
		t.Error(d)
	}
}

func TestConflictsLeaveAllAsItIs(t *testing.T) {
	var log []string
	err := plan(&log).Apply([]string{"a", "other-1", "other-2"})
	if !errors.Is(err, errThere) || len(log) > 0 || !strings.Contains(err.Error(), `"other-1", "other-2"; ask`) {
		t.Errorf("%v, done: %q", err, log)
	}
}

func TestFailureSaysHowFarItCame(t *testing.T) {
	for step, want := range map[string]string{
		"bad-clear": "after 1 of 3 changes: no room",
		"bad-put":   `"bad-put": no room; the change is applied in part, exporting again goes on`,
	} {
		var log []string
		if err := plan(&log).Apply([]string{"a", step, "z"}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
