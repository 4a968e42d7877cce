package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRoute compares the routers on the program's own table: the cascade that weighs another
// attempt nets more than any model alone, and the trace of one task is printed to its end.
func TestRoute(t *testing.T) {
	tab, err := readTable("")
	if err != nil {
		t.Fatal(err)
	}
	o := options{worth: 1}
	half := len(tab.tasks) / 2
	routes, err := policies(t.Context(), tab, tab.tasks[:half], o)
	if err != nil {
		t.Fatal(err)
	}
	net := map[string]float64{}
	for _, r := range routes {
		for _, one := range tab.tasks[half:] {
			b, err := r.ask(t.Context(), one)
			if err != nil {
				t.Fatal(err)
			}
			net[r.name] += o.worth*float64(b.resolved) - b.dollars
		}
	}
	for name, n := range net {
		if strings.HasSuffix(name, " alone") && n >= net["cascade, by odds and worth"] {
			t.Errorf("%s nets %v, no less than the cascade: %v", name, n, net)
		}
	}
	if net["auto, having learnt"] <= net["large alone"] {
		t.Errorf("auto has not learnt: %v", net)
	}

	var b bytes.Buffer
	if err := run(t.Context(), &b, o); err != nil {
		t.Fatal(err)
	}
	for name := range net {
		if !strings.Contains(b.String(), "\n"+name+"  ") {
			t.Errorf("no row of %s in\n%s", name, b.String())
		}
	}
	if !strings.Contains(b.String(), "was rejected: the tests fail") {
		t.Errorf("the way of one task is not told in\n%s", b.String())
	}
}

func TestTables(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"none":        {"", "two tasks"},
		"not JSON":    {"{\"id\":\"a\"}\nx\n", "read task 2"},
		"not tried":   {`{"id":"a","models":{"m":{"cost":1}}}` + "\n" + `{"id":"b","models":{"n":{"cost":1}}}`, "all models tried"},
		"two are few": {`{"id":"a","models":{"m":{"cost":1,"resolved":true}}}` + "\n" + `{"id":"b","models":{"m":{"cost":2}}}`, ""},
	} {
		path := filepath.Join(t.TempDir(), "table.jsonl")
		if err := os.WriteFile(path, []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		err := run(context.Background(), &bytes.Buffer{}, options{table: path, worth: 1})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
