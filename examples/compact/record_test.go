package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/tools/coding"
)

var update = flag.Bool("update", false, "record testdata/session.jsonl anew, by running the agent")

// TestRecord makes the recorded run that the command replays by default: the agent's own loop and
// tools over a small module with two faults. Only the model is scripted.
func TestRecord(t *testing.T) {
	if !*update {
		t.Skip("records only with -update")
	}
	work, logs := t.TempDir(), t.TempDir()
	writeParcel(t, work)
	ws, err := coding.Open(work, coding.Config{Ripgrep: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	tools, err := ws.Tools()
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Config{Model: agenttest.Script(turns()...), Tools: tools, System: "You mend Go programs.", NewID: func() string { return "x" }})
	if err != nil {
		t.Fatal(err)
	}
	clock := time.Date(2025, 6, 2, 9, 0, 0, 0, time.UTC)
	s, err := agent.CreateSession(logs, agent.SessionOptions{ID: "parcel", Now: func() time.Time { clock = clock.Add(time.Second); return clock }})
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Run(context.Background(), s, agent.Text{Text: "The tests of this module fail. Find out why and mend it; do not change the tests."}).Collect()
	if err != nil || res.Stop != agent.StopDone {
		t.Fatal(res, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(logs, "parcel.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), work) {
		t.Errorf("the recording names the directory %s", work)
	}
	if err := os.WriteFile("testdata/session.jsonl", data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// writeParcel writes the module, with a table of zones and a test for each of its rows.
func writeParcel(t *testing.T, dir string) {
	var zones, tests strings.Builder
	zones.WriteString("package parcel\n\n// zones are ranges of numbers by their letters; to belongs to the range.\nvar zones = []struct {\n\tletters  string\n\tfrom, to int\n\tzone     int\n}{\n")
	tests.WriteString("package parcel\n\nimport \"testing\"\n\nfunc TestZoneOf(t *testing.T) {\n\tfor area, want := range map[string]int{\n")
	for i, letters := range strings.Fields("NW SE SW N E W EC WC BR CR DA EN HA IG KT RM SM TN TW UB WD AL LU SG CM SS ME CT GU RG SL HP OX MK NN PE CB IP CO NR EX TQ PL TR AB DD IV KW HS ZE") {
		zone := 1 + i/15
		if letters == "SE" {
			zone = 2
		}
		fmt.Fprintf(&zones, "\t{%q, 1, %d, %d},\n", letters, 9+i%4, zone)
		fmt.Fprintf(&tests, "\t\t%q: %d,\n\t\t\"%s%d\": %d,\n", letters+"1", zone, letters, 9+i%4, zone)
	}
	zones.WriteString("}\n")
	tests.WriteString("\t} {\n\t\tt.Run(area, func(t *testing.T) {\n\t\t\tgot, err := ZoneOf(area)\n\t\t\tif err != nil || got != want {\n\t\t\t\tt.Errorf(\"ZoneOf(%q) = %d, %v, want %d\", area, got, err, want)\n\t\t\t}\n\t\t})\n\t}\n}\n")
	files := map[string]string{"go.mod": "module example.com/parcel\n\ngo 1.24\n", "zonetable.go": zones.String(), "zone_test.go": tests.String()}
	for _, name := range []string{"price.go", "price_test.go", "zone.go"} {
		text, err := os.ReadFile("testdata/parcel/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// turns returns the model's texts and calls.
func turns() []agenttest.Turn {
	n := 0
	act := func(say, tool string, args map[string]any) agenttest.Turn {
		n++
		text, _ := json.Marshal(args) // strings and numbers always encode
		return agenttest.Join(agenttest.Text(say), agenttest.Call(fmt.Sprintf("call_%d", n), tool, string(text)))
	}
	shell := func(say, command string) agenttest.Turn { return act(say, "shell", map[string]any{"command": command}) }
	read := func(say, path string) agenttest.Turn { return act(say, "read", map[string]any{"path": path}) }
	grep := func(say, pattern string) agenttest.Turn {
		return act(say, "grep", map[string]any{"pattern": pattern, "context": 3})
	}
	edit := func(say, path, old, new string) agenttest.Turn {
		return act(say, "edit", map[string]any{"path": path, "old": old, "new": new})
	}
	const verbose = "go test -count=1 -v ./... 2>&1"
	return []agenttest.Turn{
		act("I begin with the files.", "list", map[string]any{}),
		shell("Which tests fail?", verbose),
		read("The prices come first.", "price.go"),
		read("Their tests say what is wanted.", "price_test.go"),
		grep("Where is the class of a weight chosen?", "basePrice|steps"),
		read("Now the zones.", "zone.go"),
		read("And their table.", "zonetable.go"),
		read("What do the tests of the zones want?", "zone_test.go"),
		grep("Which code compares with the end of a range?", `number (>=|<)`),
		shell("One case alone, to see its message.", "go test -count=1 -run 'TestStepEnds/zone1/upTo500g' ./... 2>&1"),
		edit("The end belongs to its class: the comparison must include it.", "price.go", "\t\tif grams < s.grams {\n", "\t\tif grams <= s.grams {\n"),
		shell("The prices again.", "go test -count=1 -v -run 'TestStepEnds|TestPrice|TestChargedGrams' ./... 2>&1"),
		read("The insurance and the volume look right; I read them once more.", "price.go"),
		shell("Now the zones alone.", "go test -count=1 -v -run TestZoneOf ./... 2>&1"),
		edit("The comment of the table says that the end belongs to the range.", "zone.go", "number < z.to {", "number <= z.to {"),
		shell("All of it again.", verbose),
		shell("Does vet agree?", "go vet ./... && gofmt -l ."),
		grep("Is another end left out anywhere?", `< s\.grams|< z\.to|maxGrams`),
		act("The largest weight: is 31,500 g itself allowed?", "read", map[string]any{"path": "price.go", "offset": 30, "limit": 25}),
		edit("A word in the comment of ErrTooHeavy, as the limit includes its end.", "price.go", "// ErrTooHeavy is the error for a parcel that no van takes.", "// ErrTooHeavy is the error for a parcel of more than 31.5 kg, which no van takes."),
		shell("The whole run, a last time.", verbose),
		shell("What did I change?", "grep -n '<= ' price.go zone.go; wc -l *.go"),
		agenttest.Text("Two comparisons left out the end of a range: `basePrice` in price.go and `ZoneOf` in zone.go. Both include it now, and all tests pass."),
	}
}
