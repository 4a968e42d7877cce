package replay_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/compaction/replay"
)

// TestPictures draws handmade results and checks that the page has a section for each run after the
// means, and names the budget and prices, and that the emphasised policy has the bold line.
func TestPictures(t *testing.T) {
	step := func(input, cached int64, cost float64) replay.Step {
		s := replay.Step{Cost: cost}
		s.Usage.Input, s.Usage.CachedInput = input, cached
		return s
	}
	run := func(name string) []*replay.Result {
		return []*replay.Result{
			{Run: name, Policy: "raw", Steps: []replay.Step{step(100, 0, 100), step(200, 100, 110)}},
			{Run: name, Policy: "short", Steps: []replay.Step{step(100, 0, 100), step(80, 0, 5)}},
		}
	}
	runs := [][]*replay.Result{run("one <run>"), run("two")}
	p := replay.Picture{Config: replay.Config{Budget: 150}, Bold: "short"}
	var page, picture bytes.Buffer
	if err := p.WriteHTML(&page, runs); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteSVG(&picture, runs[0]); err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, want := range []string{"over 150 tokens", "cache read 0.1", "Mean of 2 runs", "50.0 %", "one &lt;run&gt;</h2>", "two</h2>"} {
		i := strings.Index(page.String()[last:], want)
		if i < 0 {
			t.Fatalf("no %q, or not in its place, in\n%s", want, page.String())
		}
		last += i
	}
	if n := strings.Count(page.String(), "<svg "); n != 2 {
		t.Errorf("%d pictures on the page, want 2", n)
	}
	if n := strings.Count(picture.String(), ` bold"`); n != 4 { // one in each panel, one in the legend
		t.Errorf("%d bold lines, want 4", n)
	}

	var means [][]replay.Score
	for _, r := range runs {
		means = append(means, replay.CompareAll(r))
	}
	var got []float64
	for _, s := range replay.Means(means) {
		got = append(got, s.Cost)
	}
	if d := cmp.Diff([]float64{1, 0.5}, got); d != "" {
		t.Errorf("costs (-want +got):\n%s", d)
	}
	if replay.Means(nil) != nil || replay.CompareAll(nil) != nil {
		t.Error("nothing gives scores")
	}
	if err := p.WriteHTML(&page, nil); err != nil {
		t.Error(err)
	}
}
