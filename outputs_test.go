package luthier_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/ansi"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/internal/tokencount"
)

// everyday prints tables, YAML, diffs, JSON, trees, help pages and logs. Each prints the same
// whenever it runs.
var everyday = []string{
	`for i in $(seq 1 60); do echo "    $i,user$i,$((i*17%1000))"; done`,
	`for i in $(seq 1 90); do echo "row $i of the table with user$i and $((i*17%1000))"; done`,
	`for i in $(seq 1 40); do printf '%-12s %8d %6.2f%%\n' "name$i" $((i*i)) $((i%100)); done`,
	`for i in $(seq 1 60); do printf 'user%d\t%d\ttrue\n' $i $((i%7)); done`,
	`for i in $(seq 1 50); do printf '    - name: user%d\n      amount: %d\n' $i $((i*3)); done`,
	`printf 'a:\n  b:\n    c: |\n      text\n\n      more\n\n\n\n  d: 1\n'`,
	`for i in $(seq 1 30); do printf '      containers:\n        - image: app:%d\n          env: []\n' $i; done`,
	`for i in $(seq 1 50); do printf '{"id": %d, "error": null, "name": "x"}\n' $i; done`,
	`echo '['; for i in $(seq 1 40); do printf '  {\n    "id": %d\n  },\n' $i; done; echo '  {}'; echo ']'`,
	`printf 'def f(x):\n\tif x:\n\t\treturn {\n\t\t    1: 2,\n\t\t}\n\n\n\n\ndef g():\n    raise ValueError("no")\n'`,
	`for i in $(seq 1 40); do printf 'if (x%d) {\n\treturn "error: no";\n}\n' $i; done`,
	`cat main.go`, `cat -A main.go`, `cat -n main.go`, `od -c main.go | head -60`, `head -c 300 main.go | od -x`,
	`git diff`, `git diff --stat`, `git diff --word-diff`, `git log --graph --stat`, `git log -p`, `git show --stat`, `git status`, `git status --short --branch`,
	`git help -a | head -80`, `git blame main.go | cut -c 60-`, `git diff --color=always`,
	`go doc strings.Builder`, `go help mod`, `go env -json GOOS GOARCH`, `go list -json=ImportPath,Name,GoFiles,Imports,Deps .`, `go version -h 2>&1 | head -30`,
	`ls -la main.go go.mod`, `find . -name '*.go'`, `for d in a b c; do echo "├── $d"; for f in 1 2 3; do echo "│   ├── $f.go"; done; done`,
	`grep -n '' main.go`, `grep -rn return .`, `wc -l *.go`, `seq 1 900`, `seq -w 1 200 | paste - - - -`,
	`printf '| a | b |\n|---|---|\n'; for i in $(seq 1 40); do echo "| $i |   $((i*2)) |"; done`,
	`printf 'trailing   \n\ttab\t\n   \n\n\n\n\nend without a line end'`,
	`printf '\033[31mred\033[0m\n  \033[1mbold\033[0m\n'`,
	`for i in 1 2 3 4 5 6 7 8; do echo "the same line, which is not short at all, and comes once more"; done`,
	`for i in 1 2; do for j in 1 2 3 4 5 6; do echo "    block line $j which comes back later, word for word, in the next round"; done; done`,
	`go vet ./... 2>&1; go test -run None . 2>&1 | cut -f 1,2`,
	`go build -o /dev/null ./broken 2>&1`,
	`for i in $(seq 1 60); do echo "2024-01-31T12:30:59.1234567Z [INFO] step $i done in $i ms"; done`,
	`for i in $(seq 1 30); do echo "=== RUN   Test$i"; echo "--- PASS: Test$i (0.0$i s)"; done; echo FAIL; exit 1`,
}

// TestEverydayOutputsArriveWhole: through the default agent, what a command prints reaches the
// model byte for byte, without the terminal's colours, if it has fewer than 4,000 tokens.
//
// Evidence: compaction · Outputs of less than 4,000 tokens reach the model whole
func TestEverydayOutputsArriveWhole(t *testing.T) {
	tier.Normal(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n", "broken/broken.go": "package broken\n\nfunc f() int {\n\treturn \"x\" + y\n}\n",
		"main.go": "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfor i := range 3 {\n\t\tfmt.Println(i,\n\t\t\t\"x\")\n\t}\n}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(script string) string {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput() // some fail on purpose
		return string(out)
	}
	run(`git init -q -b main . && git add . && git -c user.name=a -c user.email=a@example.com commit -qm 'Begin' && sed -i 's/range 3/range 4/; s/"x"/"y"/' main.go`)
	turn := 0
	var results []string // as the model sees them first: old ones are compacted later
	model := agenttest.ScriptFunc(func(req *agent.Request) agenttest.Turn {
		if turn > 0 {
			results = append(results, resultTexts(req.Messages[len(req.Messages)-1:])...)
		}
		if turn == len(everyday) {
			return agenttest.Text("done")
		}
		turn++
		return agenttest.Call(fmt.Sprint(turn), "shell", fmt.Sprintf(`{"command":%q}`, everyday[turn-1]))
	})
	c, err := luthier.New(t.Context(), dir, luthier.Options{Model: model, Autonomy: agent.AutonomySandboxed, Ask: allowAll, NoSandbox: true, NoIndex: true, StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Run(context.Background(), agent.NewSession(), agent.Text{Text: "x"}).Collect(); err != nil {
		t.Fatal(err)
	}
	if len(results) != len(everyday) {
		t.Fatalf("%d results of %d commands", len(results), len(everyday))
	}
	for i, got := range results {
		want := ansi.Strip(run(everyday[i]))
		if n := tokencount.Estimate(want); n > 4000 {
			t.Fatalf("%s prints %d tokens", everyday[i], n)
		}
		if !strings.HasPrefix(got, want) || len(got) > len(want)+60 {
			t.Errorf("%s\nprints\n%s\nthe model sees\n%s", everyday[i], want, got)
		}
	}
}
