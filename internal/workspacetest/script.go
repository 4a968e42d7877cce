package workspacetest

import "encoding/json"

// undo stands for the host's Undo between two turns.
const undo = "undo"

// A step is a call of the script, or an undo.
type step struct{ tool, args string }

// script is the session: its turns, each of which the host can undo.
//
// Every tool call that an arrangement could get wrong is there: what the model is shown, what it
// changes, what a program sees of it and changes in turn, what is taken back, and what is found
// afterwards.
var script = [][]step{
	{
		{"list", `{}`},
		{"read", `{"path":"calc/calc.go"}`},
		{"grep", `{"pattern":"func Add"}`},
		{"glob", `{"pattern":"**/*.go"}`},
		{"symbols", `{"path":"calc/calc.go"}`},
		{"test", `{}`},
		{"edit", `{"path":"calc/calc.go","old":"return a - b","new":"return a + b"}`},
		{"read", `{"path":"windows.txt"}`},
		{"edit", `{"path":"windows.txt","old":"second line","new":"2nd line"}`},
		{"read", `{"path":"latin1.txt"}`},
		{"edit", `{"path":"latin1.txt","old":"Grüße","new":"Schöne Grüße"}`},
		{"test", `{}`},
	},
	{
		{"write", `{"path":"calc/mul.go","content":"package calc\n\n// Mul multiplies two numbers.\nfunc Mul(a, b int) int { return a * b }\n"}`},
		{"apply_patch", `{"patch":"*** Begin Patch\n*** Update File: main.go\n@@\n-\tfmt.Println(calc.Add(1, 2))\n+\tfmt.Println(calc.Add(1, 2), calc.Mul(3, 4))\n*** Delete File: old.txt\n*** Add File: docs/new.md\n+# New\n*** End Patch"}`},
		{"read", `{"path":"main.go"}`},
		{"shell", `{"command":"gofmt -l .; ./tools/check.sh; cat main.go link.txt; wc -l <calc/mul.go; echo gen > gen.txt; chmod 755 run.sh; ln -s calc/calc.go calc.link; mv notes.txt notes2.txt; mkdir -p deep/er && echo x > deep/er/x; git status --short | sort"}`},
		{"git", `{"op":"status"}`},
		{"git", `{"op":"diff"}`},
		{"git", `{"op":"log"}`},
	},
	{
		{"shell", `{"command":"rm -rf calc docs; echo broken > main.go; chmod 600 tools/check.sh; rm run.sh; ln -s gen.txt run.sh; ls"}`},
	},
	{{tool: undo}},
	{
		{"read", `{"path":"gen.txt"}`},
		{"read", `{"path":"calc/mul.go"}`},
		{"grep", `{"pattern":"Mul","mode":"count"}`},
		{"search", `{"query":"multiply two numbers"}`},
		{"lint", `{}`},
		{"test", `{}`},
		{"shell", `{"command":"export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.com GIT_AUTHOR_DATE=2024-03-02T10:00:00Z GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.com GIT_COMMITTER_DATE=2024-03-02T10:00:00Z; git add -A && git -c commit.gpgsign=false commit -qm work && git log --oneline && git rev-parse HEAD 'HEAD^{tree}' && git status --short"}`},
		{"git", `{"op":"show","rev":"HEAD","stat":true}`},
		{"edit", `{"path":"docs/new.md","old":"# New","new":"# Newer"}`},
		{"git", `{"op":"status"}`},
		{"list", `{"path":"."}`},
	},
}

// calls returns the calls of a turn.
func calls(turn []step) []Call {
	var out []Call
	for _, s := range turn {
		out = append(out, Call{Tool: s.tool, Args: json.RawMessage(s.args)})
	}
	return out
}
