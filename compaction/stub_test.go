package compaction

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/artifact"
	"github.com/luthier-dev/luthier/tools"
)

// stubOf returns the stub of a result, with its handle shortened.
func stubOf(t *testing.T, tool, args, text string, failed bool, tokens int) string {
	t.Helper()
	c := New(Config{Store: tools.NewMemStore()})
	call := agent.ToolCall{ID: "c", Name: tool, Args: json.RawMessage(args)}
	a := actionOf(call)
	r := c.stubResult(ctx, &a, agent.ToolResult{CallID: "c", IsError: failed, Parts: []agent.Part{agent.Text{Text: text}}}, tokens)
	got := r.Text()
	if n := c.meter.text(got); n > tokens+10 {
		t.Errorf("the stub has %d tokens, asked for %d", n, tokens)
	}
	if r.IsError != failed || r.CallID != "c" {
		t.Errorf("the stub's result is %+v", r)
	}
	if h := artifact.Find(got); h != "" {
		if data, err := c.cfg.Store.Get(ctx, h); err != nil || string(data) != text {
			t.Errorf("its handle leads to %d bytes of %d: %v", len(data), len(text), err)
		}
		got = strings.ReplaceAll(got, h, "HANDLE")
	}
	return got
}

func TestStubs(t *testing.T) {
	log := strings.Repeat("=== RUN TestOk\n--- PASS: TestOk (0.00s)\n", 100) +
		"--- FAIL: TestPut (0.00s)\n    store_test.go:17: got 1, want 2\nFAIL\nFAIL\texample.com/store\t0.01s\n[exit code 1 after 2s]"
	code := "1\tpackage a\n2\t\n3\tfunc First() {\n" + strings.Repeat("9\t\tbody()\n", 60) + "64\t}\n65\t\n66\tfunc (s *Store) Second(key string) error {\n67\t}"
	for _, c := range []struct {
		name, tool, args, text string
		failed                 bool
		want, never            []string
	}{
		{"a test run", "shell", `{"command":"go test ./..."}`, log, false,
			[]string{`[compacted: shell "go test ./...", exit code 1, `, "whole: read_artifact HANDLE]", "TestPut", "store_test.go:17"}, []string{"TestOk (0.00s)"}},
		{"a file", "read", `{"path":"a.go"}`, code, false,
			[]string{"[compacted: read a.go, ", "3: func First()", "66: func (s *Store) Second(key string) error"}, []string{"body()"}},
		{"lines of a file", "bash", `{"command":"sed -n '120,180p' a.py"}`, strings.Repeat("    x = 1\n", 100) + "def handler(self):\n", false,
			[]string{`[compacted: bash "sed -n '120,180p' a.py", `, "220: def handler(self):"}, nil},
		{"a failure", "edit", `{"path":"a.go"}`, "old was not found\n" + strings.Repeat("the file has\n", 200), true,
			[]string{"[compacted: edit a.go, failed, ", "old was not found"}, nil},
		{"a listing", "bash", `{"command":"find ."}`, strings.Repeat("src/deep/down/a.go\nsrc/deep/down/b.go\n", 80), false,
			[]string{"src/deep/down/ a.go b.go"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := stubOf(t, c.tool, c.args, c.text, c.failed, 120)
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("the stub lacks %q:\n%s", want, got)
				}
			}
			for _, never := range c.never {
				if strings.Contains(got, never) {
					t.Errorf("the stub has %q:\n%s", never, got)
				}
			}
		})
	}
}

// TestStubKeepsTheFirstHandle checks that a text that was already cut and stored is stored again
// only if the store does not have it.
func TestStubKeepsTheFirstHandle(t *testing.T) {
	store := tools.NewMemStore()
	c := New(Config{Store: store})
	h, err := store.Put(ctx, "log", []byte("the whole of it"))
	if err != nil {
		t.Fatal(err)
	}
	cut := "head\n[… 9 of 99 bytes left out. The full text (3 lines) is kept as " + h + "; read parts of it with read_artifact …]\ntail"
	if got := c.store(ctx, "x", cut); got != h {
		t.Errorf("a text that names its whole is kept as %q, want %q", got, h)
	}
	if got := c.store(ctx, "x", "Ran.\n\nFull log: artifact "+h+" (3 KiB)"); got != h {
		t.Errorf("a report that names its log is kept as %q, want %q", got, h)
	}
	lie := strings.ReplaceAll(cut, h, artifact.Handle([]byte("never stored")))
	if got := c.store(ctx, "x", lie); got != artifact.Handle([]byte(lie)) {
		t.Errorf("a text that names what is not there is kept as %q", got)
	}
	if got := c.store(ctx, "x", "a file that mentions "+h); got == h {
		t.Error("a mention of a handle was taken for the handle of the whole")
	}
}

// TestRecordLooksAtTheWhole checks that the extract of an output that a tool had to cut is made
// from the full output, and that a tool's own report stays unchanged.
func TestRecordLooksAtTheWhole(t *testing.T) {
	store := tools.NewMemStore()
	c := New(Config{Store: store})
	noise := strings.Repeat("compiled another unit of the tree\ncopied a file to its place\n", 4000)
	h, err := store.Put(ctx, "log", []byte(noise+"src/a.c:17:3: error: expected ';' before 'return'\n"+noise))
	if err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	for i := range 300 {
		fmt.Fprintf(&shown, "compiled unit number %d of module m%d\n", i*i, i)
	}
	call := agent.ToolCall{ID: "c", Name: "shell", Args: []byte(`{"command":"make"}`)}
	cut := shown.String() + "[... 500 KiB left out here; the whole output is artifact " + h + ", for read_artifact ...]\n[exit code 2 after 3s]"
	r, ok := c.record(ctx, call, *agent.TextResult(cut), nil, true)
	if !ok || !strings.Contains(r.Text(), "expected ';' before 'return'") || !strings.Contains(r.Text(), h) || !strings.Contains(r.Text(), "16001 lines") && !strings.Contains(r.Text(), "16002 lines") {
		t.Errorf("recorded %v:\n%s", ok, r.Text())
	}
	report := shown.String() + "\nFull log: artifact " + h + " (1 MiB)"
	call.Name, call.Args = "test", []byte(`{}`)
	if r, ok := c.record(ctx, call, *agent.TextResult(report), nil, true); ok {
		t.Errorf("a report became\n%s", r.Text())
	}
}

func TestStubArgs(t *testing.T) {
	each := map[string]string{
		"a text":    `{"path":"a.go","content":"` + strings.Repeat(`line of code\n`, 200) + `"}`,
		"a list":    `{"edits":[` + strings.TrimSuffix(strings.Repeat(`{"old":"aaaaaaaaaaaa","new":"bbbbbbbbbbbb"},`, 60), ",") + `]}`,
		"nested":    `{"a":{"b":{"c":["` + strings.Repeat("word ", 500) + `"]}},"n":12345,"t":true,"z":null}`,
		"malformed": `{"content": "` + strings.Repeat("no end ", 300),
	}
	for name, args := range each {
		c := New(Config{Store: tools.NewMemStore()})
		got := c.stubArgs(ctx, agent.ToolCall{ID: "c", Name: "write", Args: json.RawMessage(args)}, 80)
		h := artifact.Find(string(got))
		data, err := c.cfg.Store.Get(ctx, h)
		if !json.Valid(got) || len(got) > 700 || err != nil || string(data) != args {
			t.Errorf("%s: %d bytes of %d, valid %v, kept %v: %s", name, len(got), len(args), json.Valid(got), err, got)
		}
	}
	if got := string(shortArgs(json.RawMessage(each["nested"]), 200, leftOut)); !strings.Contains(got, `"n":12345`) || !strings.Contains(got, `"t":true`) {
		t.Errorf("what is short must stay: %s", got)
	}
}

func TestStubWords(t *testing.T) {
	draft := "```go\nfunc Fixed() error {\n\treturn nil // the new line\n}\n```"
	text := "I looked at the store. " + strings.Repeat("This is a long way to think about parseHeader. ", 30) + "userID is nil. " + strings.Repeat("And a long way back. ", 60) +
		"The file has\n```go\nfunc Old() {\n\treturn nil // as it was\n}\n```\nso it shall be\n" + draft + "\nNow I write it."
	live := exchange("c", "read", `{"path":"a.go"}`, "7\tfunc Old() {\n8\t\treturn nil // as it was\n9\t}")
	c := New(Config{Store: tools.NewMemStore()})
	got := c.stubWords(ctx, text, 80, drafts(text, live))
	for _, want := range []string{"I looked at the store.", "Now I write it.", draft, "parseHeader userID …]", "whole: read_artifact artifact-"} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "as it was") || c.meter.text(got) > 80*3 {
		t.Errorf("a quotation stayed, or too much:\n%s", got)
	}
	again := c.stubWords(ctx, got, 60, nil)
	if artifact.Find(again) != artifact.Find(got) || strings.Count(again, leftOut) != 1 || strings.Contains(again, "func Fixed") {
		t.Errorf("shortened again:\n%s", again)
	}
}

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		text string
		code int
		ok   bool
	}{
		{"done\n[exit code 3 after 12ms]", 3, true},
		{"<returncode>1</returncode>\n<output>\nx\n</output>", 1, true},
		{"make: *** [all] Error 2\nexit status 2", 2, true},
		{"Process exited with code 137", 137, true},
		{"exit code 1 was expected" + strings.Repeat(".", 1000), 1, true},
		{strings.Repeat(".", 1000) + "exit code 1" + strings.Repeat(".", 1000), 0, false},
		{"the exit is over there", 0, false},
		{"", 0, false},
	} {
		if code, ok := exitCode(c.text); code != c.code || ok != c.ok {
			t.Errorf("exitCode(%.40q) = %d, %v, want %d, %v", c.text, code, ok, c.code, c.ok)
		}
	}
}

func TestCondense(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"paths", "a/b/c.go\na/b/d.go\na/e.go\n", "a/b/ c.go d.go\na/e.go"},
		{"grep", "a/b.go:1:x := 1\na/b.go:9:y := 2\nc.go:3:z", "a/b.go:\n  1:x := 1\n  9:y := 2\nc.go: 3:z"},
		{"names", "a\nb\nc", "a b c"},
		{"ls -R", "./x:\na.go\nb.go\n\n./y:\nc.go", "./x:\na.go b.go\n\n./y:\nc.go"},
		{"prose stays", "total 12\ndrwxr-xr-x 2 root root", "total 12\ndrwxr-xr-x 2 root root"},
	} {
		if d := cmp.Diff(c.want, condense(c.text, 1<<20)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "src/pkg%d/file%d.go\n", i/500, i)
	}
	short := condense(b.String(), 900)
	if len(short) > 900 || !strings.Contains(short, "src/pkg0/") || !strings.Contains(short, "src/pkg5/") || !strings.Contains(short, " more") {
		t.Errorf("%d bytes:\n%s", len(short), short)
	}
}

func TestNames(t *testing.T) {
	got := names("the userID of parseHeader in a/b.go and userID in config.yaml is word or Word", "parseHeader is known", 200)
	if got != "userID a/b.go config.yaml" {
		t.Errorf("names = %q", got)
	}
	if got := names("userID and more", "", 3); got != "" {
		t.Errorf("without room: %q", got)
	}
}

// TestMeterLearns: the meter adopts the count of a provider that counts 50 % more, whether cached
// tokens are included in the input or reported separately.
func TestMeterLearns(t *testing.T) {
	for name, usage := range map[string]func(n int64) agent.Usage{
		"in all":         func(n int64) agent.Usage { return agent.Usage{Input: n, CachedInput: n / 2} },
		"apart":          func(n int64) agent.Usage { return agent.Usage{Input: n / 10, CachedInput: n - n/10} },
		"now and then 0": func(n int64) agent.Usage { return agent.Usage{Input: n * (n % 2)} },
	} {
		c := New(Config{})
		ms := []agent.Message{agent.UserText("go")}
		for i := range 40 {
			ms = append(ms, exchange(fmt.Sprint(i), "shell", `{"command":"make"}`, newRandom(uint64(i)).text(120))...)
			req := &agent.Request{System: "be brief", Messages: ms}
			c.meter.learn(req, usage(int64(weigh(ms)*3/2)))
		}
		c.meter.refresh()
		if got, want := c.meter.messages(ms), weigh(ms)*3/2; got < want*9/10 || got > want*11/10 {
			t.Errorf("%s: %d tokens by the meter, %d by the provider", name, got, want)
		}
	}
}

// TestSurveyFollowsTheMeter: a history that was weighed before is weighed again at other rates.
func TestSurveyFollowsTheMeter(t *testing.T) {
	c := New(Config{})
	ms := reads(10, 300)
	before := c.survey(ms).total
	for range 5 {
		c.meter.learn(&agent.Request{Messages: ms}, agent.Usage{Input: int64(2 * before)})
	}
	if same := c.survey(ms).total; same != before {
		t.Errorf("rates changed in between: %d became %d tokens", before, same)
	}
	c.meter.refresh()
	if after := c.survey(ms).total; after < before*3/2 {
		t.Errorf("%d tokens became %d, the provider says twice as many", before, after)
	}
}

// TestBudgetIsTheProviders: if the provider counts more tokens than the meter, the history still
// fits the provider's count.
func TestBudgetIsTheProviders(t *testing.T) {
	ms := reads(40, 900)
	n := weigh(ms)
	out, rep, err := New(Config{OnlyWhenFull: true}).Compact(agent.WithLiveRequest(ctx, &agent.Request{Messages: ms}, int64(2*n)), ms, n+n/2)
	if err != nil || rep.After*2 > n+n/2 || len(out) == 0 {
		t.Errorf("%d tokens by the meter, twice that by the provider, are left of a budget of %d: %v", rep.After, n+n/2, err)
	}
	same, rep, err := New(Config{OnlyWhenFull: true}).Compact(ctx, ms, n+n/2)
	if err != nil || &same[0] != &ms[0] {
		t.Errorf("what fits must come back as it is: %+v, %v", rep, err)
	}
}
