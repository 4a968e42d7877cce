package replay

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThings(t *testing.T) {
	for _, c := range []struct {
		command string
		want    []Thing
	}{
		{"cat ./src/app/main.go", []Thing{{KindPath, "src/app/main.go"}}},
		{"cat README.md -n 2>/dev/null", []Thing{{KindPath, "README.md"}}},
		{"sed -n '80,120p' /testbed/sphinx/util.py", []Thing{{KindLine, "80"}, {KindPath, "testbed/sphinx/util.py"}}},
		{"grep -rn parse_header HttpClient word utf8 __init__ x_", []Thing{{KindIdentifier, "HttpClient"}, {KindIdentifier, "parse_header"}, {KindIdentifier, "utf8"}}},
		{"print(self.headers.get_all)", []Thing{{KindIdentifier, "get_all"}, {KindIdentifier, "self.headers.get_all"}}},
		{"goto 1207; head -5; sleep 0300", []Thing{{KindLine, "1207"}}},
		{`echo "no such file: x"`, []Thing{{KindString, "no such file: x"}}},
		{"cat > f <<E\nfunc main() {\n\tfmt.Println(1, two)\nE", []Thing{{KindIdentifier, "fmt.Println"}, {KindString, "fmt.Println(1, two)"}}},
		{"ls -la && cd ..", nil},
	} {
		args, err := json.Marshal(map[string]string{"command": c.command})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, Things(call("1", "sh", string(args)))); d != "" {
			t.Errorf("%q (-want +got):\n%s", c.command, d)
		}
	}
	got := Things(call("1", "edit", `{"path": "a/b_c.go", "edits": [{"old": "x := oldName"}], "line": 42}`))
	if d := cmp.Diff([]Thing{{KindIdentifier, "oldName"}, {KindLine, "42"}, {KindPath, "a/b_c.go"}}, got); d != "" {
		t.Errorf("structured arguments (-want +got):\n%s", d)
	}
	if got := Things(call("1", "sh", `{"broken": some_name`)); len(got) != 1 {
		t.Errorf("arguments that are no JSON: %v", got)
	}
	var many strings.Builder
	for i := range 2000 {
		many.WriteString(" name_" + strings.Repeat("x", i%50) + string(rune('a'+i%26)) + "_" + strings.Repeat("y", i/50))
	}
	if got := Things(call("1", "sh", many.String())); len(got) != maxThings {
		t.Errorf("%d things, want at most %d", len(got), maxThings)
	}
}

func TestStands(t *testing.T) {
	for _, c := range []struct {
		thing       Thing
		text        string
		in, shownIn bool
	}{
		{Thing{KindIdentifier, "get_all"}, "x.get_all()", true, true},
		{Thing{KindIdentifier, "get_all"}, "get_all_of it, then get_all", true, true},
		{Thing{KindIdentifier, "get_all"}, "target_all get_allx", false, false},
		{Thing{KindPath, "src/a.go"}, "./src/a.go:12: x", true, true},
		{Thing{KindPath, "src/a.go"}, "src/a.golden", false, false},
		{Thing{KindString, "no such file"}, "xno such filex", true, true},
		{Thing{KindLine, "12"}, "12 apples", true, false},
		{Thing{KindLine, "12"}, "a.go:12: x", true, true},
		{Thing{KindLine, "12"}, "first\n   12\ttext", true, true},
		{Thing{KindLine, "12"}, "12: text", true, true},
		{Thing{KindLine, "12"}, "File \"a.py\", line 12, in f", true, true},
		{Thing{KindLine, "12"}, "lines 12-40", true, true},
		{Thing{KindLine, "12"}, "a: 12, 112:", true, false},
		{Thing{KindLine, "12"}, "12", true, false},
		{Thing{KindLine, "12"}, "", false, false},
	} {
		if got := c.thing.in(c.text, 0) >= 0; got != c.in {
			t.Errorf("%v stands in %q: %v", c.thing, c.text, got)
		}
		if got := c.thing.shownIn(c.text, 0) >= 0; got != c.shownIn {
			t.Errorf("%v is shown in %q: %v", c.thing, c.text, got)
		}
	}
}
