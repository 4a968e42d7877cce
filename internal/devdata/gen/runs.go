package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// message is a message of a recorded run.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	CallID  string `json:"tool_call_id,omitempty"`
	Name    string `json:"name,omitempty"`
	Calls   []call `json:"tool_calls,omitempty"`
}

type call struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments"`
}

// run is a made-up agent run under construction: it goes through the modules of a project one after
// the other, lists, searches, reads, edits and tests, and returns to files that it read some steps
// before.
type run struct {
	*rand.Rand
	messages []message
}

// runs returns two runs: one whose prompt grows beyond 48,000 tokens, and a short one.
func runs() map[string][]byte {
	out := map[string][]byte{}
	for name, modules := range map[string]int{"long": 18, "short": 4} {
		r := &run{Rand: rand.New(rand.NewPCG(uint64(modules), 9))}
		r.say("system", "You change programs in a shell. Call one tool at a time and read what it gives before the next.")
		r.say("user", "Some sums in this project are off by one. Find all of them and mend them; the tests of every module tell which.")
		var read []module
		for i := range modules {
			m := r.module(i)
			r.mend(m, read)
			read = append(read, m)
		}
		r.say("assistant", "All modules pass their tests now.")
		text, err := json.MarshalIndent(map[string]any{"id": "made-" + name, "source": "made up", "messages": r.messages}, "", " ")
		if err != nil {
			panic(err)
		}
		out["compaction-dev/trajectories/made-"+name+".json"] = append(text, '\n')
	}
	return out
}

func (r *run) say(role, text string) {
	r.messages = append(r.messages, message{Role: role, Content: text})
}

// do adds a call and its result.
func (r *run) do(why, command, result string) {
	id := fmt.Sprintf("call_%d", len(r.messages))
	r.messages = append(r.messages,
		message{Role: "assistant", Content: why, Calls: []call{{ID: id, Name: "bash", Arguments: map[string]string{"command": command}}}},
		message{Role: "tool", CallID: id, Name: "bash", Content: result})
}

// module is a file of made-up functions, one of them wrong.
type module struct {
	path, name, wrong string
	lines             []string
	at                int // the line of the fault, from 1
}

func (r *run) word() string {
	parts := []string{"cup", "pot", "leaf", "tray", "lid", "urn", "jar", "tin", "mug", "tea"}
	return parts[r.IntN(10)]
}

func (r *run) module(i int) module {
	m := module{name: fmt.Sprintf("%s_%s_%d", r.word(), r.word(), i)}
	m.path = "src/" + m.name + ".py"
	m.lines = append(m.lines, `"""Sums over `+r.word()+`s and `+r.word()+`s."""`, "")
	bad := 5 + r.IntN(8)
	for k := range 15 {
		name := fmt.Sprintf("count_%s_%s%d", r.word(), r.word(), k)
		m.lines = append(m.lines, fmt.Sprintf("def %s(items, limit=%d):", name, 10+r.IntN(90)),
			fmt.Sprintf(`    """Returns the number of %ss that hold more than %d millilitres."""`, r.word(), 50+r.IntN(400)), "    total = 0", "    for item in items[:limit]:")
		step := fmt.Sprintf("        total += item.%s_size", r.word())
		if k == bad {
			m.wrong, m.at = name, len(m.lines)+1
			step += " - 1"
		}
		m.lines = append(m.lines, step, fmt.Sprintf("        if total > %d:", 1000+r.IntN(9000)), "            break", "    return total", "")
	}
	return m
}

func (r *run) mend(m module, before []module) {
	var list strings.Builder
	for range 12 {
		fmt.Fprintf(&list, "-rw-r--r-- 1 dev dev %5d Jan 15 12:%02d %s_%s.txt\n", 400+r.IntN(9000), r.IntN(60), r.word(), r.word())
	}
	r.do("What is beside the module?", "ls -l src/"+m.name+"_data && wc -l "+m.path, list.String()+fmt.Sprintf("%d %s\n", len(m.lines), m.path))
	r.do("I run its tests first.", "python -m pytest -q tests/test_"+m.name+".py", r.tests(m, true))
	var numbered strings.Builder
	for i, l := range m.lines {
		fmt.Fprintf(&numbered, "%6d\t%s\n", i+1, l)
	}
	r.do("Now the module itself.", "cat -n "+m.path, numbered.String())
	line := m.lines[m.at-1]
	mended := strings.TrimSuffix(line, " - 1")
	r.do(fmt.Sprintf("%s takes one off in line %d.", m.wrong, m.at), fmt.Sprintf("sed -i '%ds/%s/%s/' %s", m.at, strings.TrimSpace(line), strings.TrimSpace(mended), m.path), "")
	if len(before) > 2 && r.IntN(3) == 0 {
		old := before[len(before)-1-r.IntN(3)]
		r.do("That is as it was in a module before.", "grep -n "+old.wrong+" "+old.path, fmt.Sprintf("%d:def %s(items):\n", old.at-4, old.wrong))
	}
	r.do("And the tests again.", "python -m pytest -q tests/test_"+m.name+".py", r.tests(m, false))
}

// tests returns what the tests of a module print.
func (r *run) tests(m module, fail bool) string {
	var b strings.Builder
	for range 18 {
		fmt.Fprintf(&b, "tests/test_%s.py::test_%s_%s_%d PASSED\n", m.name, r.word(), r.word(), r.IntN(500))
	}
	if !fail {
		return b.String() + "18 passed in 0.21s\n"
	}
	fmt.Fprintf(&b, "tests/test_%s.py::test_%s FAILED\n\n>       assert %s(items) == 7\nE       assert 6 == 7\n%s:%d: AssertionError\n1 failed, 18 passed in 0.24s\n", m.name, m.wrong, m.wrong, m.path, m.at)
	return b.String()
}
