package luthier_test

import (
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/retrieval"
)

// TestRepoMap checks the order of a real index's outline: first what the call is about, then what
// other files use most.
//
// Evidence: retrieval · A map of the repository keeps to a budget of tokens
func TestRepoMap(t *testing.T) {
	fs := files{
		"core/engine.go": "package core\n\n// Engine drives.\ntype Engine struct{}\n\nfunc (e *Engine) Start(speed int) error { return nil }\n\nfunc NewEngine() *Engine { return &Engine{} }\n",
		"odd/sundial.go": "package odd\n\n// Sundial tells the hour.\ntype Sundial struct{}\n\nfunc ReadShadow(angle float64) int { return 0 }\n",
	}
	for _, n := range []string{"a", "b", "c", "d"} {
		fs["use/"+n+".go"] = "package use\n\nfunc run" + n + "() { e := core.NewEngine(); e.Start(3) }\n"
	}
	for _, n := range []string{"f", "g", "h"} {
		fs["look/"+n+".go"] = "package look\n\nfunc look" + n + "() { odd.ReadShadow(1) }\n"
	}
	w, x := openIndexed(t, retrieval.Config{}, fs)
	settled(t, x)
	all := do(t, w, "repo_map", args{})
	contains(t, all, "func NewEngine() *Engine", "type Sundial struct", "func (e *Engine) Start(speed int) error")
	if !strings.HasPrefix(all, "core/engine.go\n") {
		t.Errorf("what all others use is not first:\n%s", all)
	}
	if got := do(t, w, "repo_map", args{"files": []string{"odd/../odd/sundial.go"}}); !strings.HasPrefix(got, "odd/sundial.go\n") {
		t.Errorf("the file it is about is not first:\n%s", got)
	}
	if got := do(t, w, "repo_map", args{"words": "the sundial tells a wrong hour"}); !strings.HasPrefix(got, "odd/sundial.go\n") {
		t.Errorf("the file that has to do with the words is not first:\n%s", got)
	}
	if got := do(t, w, "repo_map", args{"tokens": 1}); len(got) > 4*100 || got == "" {
		t.Errorf("the smallest outline:\n%s", got)
	}
	refused(t, w, "repo_map", args{"files": []string{"odd/clock.go"}}, "does not exist")
	refused(t, w, "repo_map", args{"files": []string{"../x.go"}}, "outside")

	do(t, w, "write", args{"path": "odd/hourglass.go", "content": "package odd\n\n// Hourglass runs out.\ntype Hourglass struct{}\n"})
	contains(t, do(t, w, "repo_map", args{}), "type Hourglass struct")
	must(t, x.Close())
	refused(t, w, "repo_map", args{}, "closed", "use list and symbols")

	words, _ := openIndexed(t, retrieval.Config{WordsOnly: true}, fs)
	refused(t, words, "repo_map", args{}, "no symbols", "use list and symbols")
	empty, _ := openIndexed(t, retrieval.Config{}, nil)
	contains(t, do(t, empty, "repo_map", args{}), "no definitions", "use list")
}
