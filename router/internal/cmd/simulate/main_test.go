package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/router/internal/simulate"
)

func testOptions(table string) *options {
	return &options{table: table, worth: 1, budget: 0.24, deals: 2, folds: 5, orders: 10, seed: 1}
}

func mean(t *testing.T, tab *simulate.Table, c contender, o *options) simulate.Score {
	t.Helper()
	m, err := measure(tab, nil, c, o)
	if err != nil {
		t.Fatal(err)
	}
	return simulate.Mean(m.scores)
}

func bestSingle(t *testing.T, tab *simulate.Table, o *options) simulate.Score {
	t.Helper()
	var top simulate.Score
	for _, c := range singles(tab, simulate.Check{}) {
		if s := mean(t, tab, c, o); s.Resolved > top.Resolved {
			top = s
		}
	}
	return top
}

// TestCascadeOnTheDevelopmentTable: the cascade meets its targets on real outcomes, having learned
// from tasks other than those it is measured on.
//
// Evidence: routers · A cascade escalates in the best order
func TestCascadeOnTheDevelopmentTable(t *testing.T) {
	tier.Normal(t)
	path := devdata.Path(t, "router-dev/swebench-verified-django.jsonl")
	tab, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	o := testOptions(path)
	single := bestSingle(t, tab, o)
	quality, dollars, near := 0.90, 0.21, 0.01
	if devdata.Sampled(t, path) {
		quality, dollars, near = single.Resolved+0.1, single.Dollars, 0.03
	}
	for _, tt := range []struct {
		errs, quality, dollars float64
	}{{0, quality, dollars}, {0.05, single.Resolved, single.Dollars}, {0.1, single.Resolved, single.Dollars}, {0.2, single.Resolved, single.Dollars}} {
		c := simulate.Check{FalseAccept: tt.errs, FalseReject: tt.errs}
		s := mean(t, tab, byWorth(tab, c, c, 1), o)
		if s.Resolved <= tt.quality || s.Dollars >= tt.dollars {
			t.Errorf("with a check that errs in %v: %+v, want more than %v for less than $%v", tt.errs, s, tt.quality, tt.dollars)
		}
		b := mean(t, tab, byBudget(tab, c, c, 0.24), o)
		if math.Abs(b.Dollars-0.24) > near || b.Resolved < s.Resolved {
			t.Errorf("with a check that errs in %v $0.24 a task buy %+v, less than %+v", tt.errs, b, s)
		}
	}
}

func TestPoliciesOnTheOwnTable(t *testing.T) {
	o := testOptions("testdata/synthetic.jsonl")
	tab, err := open(o.table)
	if err != nil {
		t.Fatal(err)
	}
	all, err := measureAll(tab, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	top, orc := best(all, single), best(all, bound)
	if orc.name != "oracle" {
		t.Fatalf("the best bound is %q", orc.name)
	}
	last := simulate.Score{}
	for _, m := range all {
		s := simulate.Mean(m.scores)
		if s.Resolved > orc.Resolved.Mean+1e-9 {
			t.Errorf("%s resolves %v, more than the oracle's %v", m.name, s.Resolved, orc.Resolved.Mean)
		}
		if i := m.Resolved; i.Low > i.Mean || i.High < i.Mean || i.Low == i.High && i.Mean > 0 && i.Mean < 1 {
			t.Errorf("%s has the interval %+v", m.name, i)
		}
		if m.kind == weighed {
			if s.Resolved < last.Resolved-0.02 || s.Dollars < last.Dollars-0.02 {
				t.Errorf("%s gives %+v, less than a smaller worth: %+v", m.name, s, last)
			}
			last = s
		}
	}
	if last.Resolved <= top.Resolved.Mean {
		t.Errorf("the most valuable cascade resolves %v, no more than %s with %v", last.Resolved, top.name, top.Resolved.Mean)
	}
}

// TestBanditBeatsChance: after learning, the bandit's net value per task is higher than that of a
// random model.
func TestBanditBeatsChance(t *testing.T) {
	o := testOptions("testdata/synthetic.jsonl")
	tab, err := open(o.table)
	if err != nil {
		t.Fatal(err)
	}
	for _, worth := range []float64{0.5, 1, 4} {
		random := mean(t, tab, bounds()[0], o)
		for _, attempts := range []int{1, len(tab.Models)} {
			_, late, err := online(tab, simulate.Check{}, worth, attempts, 20, 1)
			if err != nil {
				t.Fatal(err)
			}
			got := simulate.Mean(late)
			if worth*got.Resolved-got.Dollars <= worth*random.Resolved-random.Dollars {
				t.Errorf("worth %v, %d attempts: the bandit gets %+v, chance %+v", worth, attempts, got, random)
			}
		}
	}
}

func TestReport(t *testing.T) {
	tier.Normal(t)
	o := testOptions("testdata/synthetic.jsonl")
	o.out, o.sweep, o.policy = filepath.Join(t.TempDir(), "curve.svg"), true, "worth|single|oracle"
	o.check = simulate.Check{FalseAccept: 0.1, FalseReject: 0.2}
	o.believed = o.check
	stdout := os.Stdout
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout = w
	done := make(chan []byte)
	go func() { b, _ := io.ReadAll(r); done <- b }()
	err = compare(o)
	os.Stdout = stdout
	_ = w.Close()
	text := string(<-done)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"small", "oracle", "cascade, worth $1", "passes 10 % of what is wrong and rejects 20 %", "the check errs in"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\nbandit") {
		t.Errorf("-policy does not leave out the bandit:\n%s", text)
	}
	picture, err := os.ReadFile(o.out)
	if err != nil {
		t.Fatal(err)
	}
	if err := wellFormed(picture); err != nil || !bytes.Contains(picture, []byte("oracle")) {
		t.Errorf("the picture is not well formed or lacks the oracle: %v", err)
	}
	o.out = filepath.Join(t.TempDir(), "curve.html")
	o.sweep = false
	os.Stdout, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err == nil {
		err = compare(o)
	}
	os.Stdout = stdout
	if err != nil {
		t.Fatal(err)
	}
	if page, err := os.ReadFile(o.out); err != nil || !bytes.Contains(page, []byte("<svg")) || !bytes.Contains(page, []byte("cascade, worth $1")) {
		t.Errorf("the page lacks its picture or its table: %v", err)
	}
}

func wellFormed(data []byte) error {
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// TestMadeTableIsTheCommittedOne regenerates the table of testdata.
func TestMadeTableIsTheCommittedOne(t *testing.T) {
	want, err := os.ReadFile("testdata/synthetic.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := made(&got, 150, 1); err != nil {
		t.Fatal(err)
	}
	if got.String() != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Error("testdata/synthetic.jsonl differs from what -generate 150 writes; write it anew, see testdata/README.md")
	}
}

func TestOrders(t *testing.T) {
	if n := len(orders(5)); n != 5*4+5*4*3+120+120 {
		t.Errorf("5 models have %d orders", n)
	}
	if n := len(orders(7)); n != 0 {
		t.Errorf("7 models give %d orders", n)
	}
}

// TestManyModels measures a table with more models than the router can weigh.
func TestManyModels(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, `{"id":"%d","models":{`, i)
		for m := range 10 {
			if m > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"m%d":{"resolved":%v,"cost":%d}`, m, (i*7+m*3)%10 < m, m+1)
		}
		b.WriteString("}}\n")
	}
	tab, err := simulate.Read(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{0, 1, 2, 9, 8, 7, 6, 5}, field(tab, tab.Tasks)); diff != "" {
		t.Error(diff)
	}
	o := testOptions("")
	o.deals, o.folds = 1, 2
	if s := mean(t, tab, byWorth(tab, simulate.Check{}, simulate.Check{}, 100), o); s.Resolved < bestSingle(t, tab, o).Resolved {
		t.Errorf("the cascade gets %+v", s)
	}
}
