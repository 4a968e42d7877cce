package digest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/internal/tokencount"
)

// wrappers write a log as different environments would. The result must not depend on where a log
// was produced.
var wrappers = map[string]func(string) string{
	"as it is":     func(s string) string { return s },
	"plain":        Clean,
	"GitHub times": func(s string) string { return eachIn(s, "2024-05-06T07:08:09.1234567Z ", "\n") },
	"BuildKit":     func(s string) string { return eachIn(s, "#14 12.345 ", "\n") },
	"compose":      func(s string) string { return eachIn(s, "tests_1  | ", "\n") },
	"CR LF":        func(s string) string { return eachIn(s, "", "\r\n") },
	"CR alone":     func(s string) string { return eachIn(s, "", "\r") },
	"bold":         func(s string) string { return eachIn(s, "\x1b[1m", "\x1b[0m\n") },
	"one string":   func(s string) string { return `{"log":"` + eachIn(s, "", `\n`) + `"}` },
}

func eachIn(s, before, after string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(before)
		b.WriteString(strings.TrimRight(line, "\r\n"))
		b.WriteString(after)
	}
	return b.String()
}

// TestWrapped checks the digests of all tools' reports in every wrapper.
func TestWrapped(t *testing.T) {
	tier.Normal(t)
	wants := tools(t)
	counts := table{}
	for how, wrap := range wrappers {
		for name, want := range wants {
			ci := noise(30_000, name) + readLog(t, name) + "\n" + noise(30_000, "")
			budget := tokencount.Estimate(ci) * 3 / 100
			in := Input{Text: wrap(ci), Budget: budget}
			d := Digest(in)
			for _, w := range want {
				ok := strings.Contains(d.Text, w) || how == "one string" && strings.Contains(d.Text, strings.ReplaceAll(w, `\t`, "\t"))
				counts.count(how, ok)
				if !ok {
					t.Logf("%s: %s: lost %q", how, name, w)
				}
			}
		}
	}
	counts.log(t)
	for how, s := range counts {
		if least := 0.97; s.part() < least {
			t.Errorf("%s: %v", how, s)
		}
	}
}

// TestRecallWrapped repeats TestWrapped with the development logs.
func TestRecallWrapped(t *testing.T) {
	tier.Normal(t)
	rs := records(t)
	counts := table{}
	for how, wrap := range wrappers {
		for _, r := range rs {
			if len(r.Text) < 40_000 {
				continue
			}
			d := Digest(Input{Text: wrap(r.Text), Budget: tokencount.Estimate(r.Text) * 3 / 100})
			for _, f := range r.Facts {
				counts.count(how, slices.ContainsFunc(f.Match, func(m string) bool { return strings.Contains(d.Text, m) }))
			}
		}
	}
	counts.log(t)
	base := counts["as it is"].part()
	for how, s := range counts {
		if s.part() < base-0.04 {
			t.Error(fmt.Sprint(how, ": ", s))
		}
	}
}
