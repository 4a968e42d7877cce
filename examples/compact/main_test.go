package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/compaction/replay"
)

// out runs the command and returns its output.
func out(t *testing.T, args ...string) string {
	t.Helper()
	var b bytes.Buffer
	if err := run(context.Background(), &b, args); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRecorded replays the recorded run under a small budget: every policy stays below it, and this
// library's policy costs less than the raw run and loses less than the one that drops the oldest.
func TestRecorded(t *testing.T) {
	o, err := parse([]string{"-budget", "16000"})
	if err != nil {
		t.Fatal(err)
	}
	runs, err := read(nil)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := measure(context.Background(), runs[0], o)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]replay.Score{}
	for i, s := range rep.scores {
		by[s.Policy] = s
		if s.Policy != "raw" && s.Peak > 16000 && !strings.HasPrefix(s.Policy, "mask") { // masks always keep the last ten results
			t.Errorf("%s: a prompt of %d tokens", s.Policy, s.Peak)
		}
		if len(rep.results[i].Notes) > 0 {
			t.Errorf("%s: %q", s.Policy, rep.results[i].Notes)
		}
	}
	if by["raw"].Peak < 24_000 || by["raw"].Cost != 1 || by["raw"].Steps < 20 {
		t.Errorf("the raw run: %+v", by["raw"])
	}
	if l := by["luthier"]; l.Cost > 0.8 || l.Support < 0.95 || l.Support <= by["drop-oldest"].Support {
		t.Errorf("luthier: %+v", l)
	}
	text := out(t, "-budget", "16000")
	for name := range by {
		if !strings.Contains(text, " "+name+" ") {
			t.Errorf("no row of %s in\n%s", name, text)
		}
	}
}

func TestPolicies(t *testing.T) {
	names := func(list string) (out []string) {
		ps, err := choose(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range ps {
			out = append(out, p.Name)
		}
		return out
	}
	if d := cmp.Diff([]string{"raw", "mask-10", "luthier"}, names("luthier,mask")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if n := len(names("")); n != len(policies()) {
		t.Errorf("%d policies without a list, want all %d", n, len(policies()))
	}
	for _, list := range []string{"none", "raw,", ","} {
		if _, err := choose(list); err == nil || !strings.Contains(err.Error(), "head-tail-2k") {
			t.Errorf("choose(%q): %v, want an error that names the policies", list, err)
		}
	}
}

func TestWrongUse(t *testing.T) {
	for want, args := range map[string][]string{
		"no such file":          {"testdata/missing.json"},
		"above 0":               {"-budget", "0"},
		"no policy is named":    {"-policy", "magic"},
		"an .svg holds one run": {"-policy", "raw", "-o", filepath.Join(t.TempDir(), "x.svg"), "testdata/session.jsonl", "testdata/session.jsonl"},
		"no messages":           {"testdata/empty.json"},
		"never answers":         {"testdata/silent.json"},
	} {
		err := run(context.Background(), io.Discard, args)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", args, err, want)
		}
	}
}

func TestPrices(t *testing.T) {
	free := strings.Fields(strings.Split(out(t, "-read", "0", "-write", "0", "-output", "1", "-policy", "head-tail"), "\n")[3])
	if d := cmp.Diff([]string{"head-tail-2k", "100.0", "%"}, []string{free[1], free[3], free[4]}); d != "" {
		t.Errorf("only output costs, which all policies have alike (-want +got):\n%s", d)
	}
}

// TestPicture draws a page of two runs and a picture of one: both have a line for each policy with
// a point for each step.
//
// Evidence: compaction · A replay can be drawn as a picture
func TestPicture(t *testing.T) {
	dir := t.TempDir()
	page, picture := filepath.Join(dir, "out.html"), filepath.Join(dir, "out.svg")
	out(t, "-budget", "16000", "-o", page, "testdata/session.jsonl", "testdata/session.jsonl")
	out(t, "-budget", "16000", "-o", picture, "-policy", "luthier")
	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(html, []byte("<svg ")); n != 2 {
		t.Errorf("%d pictures on the page, want 2", n)
	}
	if !bytes.Contains(html, []byte("Mean of 2 runs")) {
		t.Error("no table of means")
	}
	svg, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	var texts, lines []string
	dec := xml.NewDecoder(bytes.NewReader(svg))
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch tok := tok.(type) {
		case xml.CharData:
			texts = append(texts, string(tok))
		case xml.StartElement:
			for _, a := range tok.Attr {
				if a.Name.Local == "d" && tok.Attr[0].Value != "axis" {
					lines = append(lines, strconv.Itoa(strings.Count(a.Value, "L")+1)+" points")
				}
			}
		}
	}
	for _, want := range []string{"recorded", "raw", "luthier", "budget", "prompt (tokens)", "cost so far (plain input tokens)", "of the prompt, read from the cache", "step (calls of the model)"} {
		found := false
		for _, s := range texts {
			found = found || s == want
		}
		if !found {
			t.Errorf("no text %q in the picture", want)
		}
	}
	want := []string{"23 points", "23 points", "23 points", "23 points", "23 points", "23 points"}
	if d := cmp.Diff(want, lines); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
}
