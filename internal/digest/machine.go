package digest

import "strings"

// A cue is a bit for a group of words that hint at the subject of a line. The scanner searches for
// all words of all groups in one pass over the bytes; slower code reads only lines with a cue.
type cue uint8

const (
	cueError   cue = 1 << iota // something went wrong
	cueFail                    // a test or a step failed
	cueSummary                 // counts, verdicts, exit codes
	cueRule                    // ruled lines, which are headings of sections
	cueFrame                   // a place in a source file
	cueVerdict                 // the final message of a step
	cueControl                 // terminal control bytes: the line needs cleaning
)

// words are the words of each group, in lower case; upper case matches too.
var words = map[cue][]string{
	cueError: {
		"error", "exception", "fatal", "panic", "abort", "segfault", "segmentation", "traceback", "undefined", "cannot ",
		"can't ", "could not", "couldn't", "no such", "denied", "not found", "unresolved", "unable to", "caused by", "core dumped",
		"unexpected", "mismatch", "sanitizer", "timed out", "timeout", "out of memory", "killed", "unhandled", "uncaught", "assert",
		"warning", "throw", "refused", "violation", "overflow", "deadlock", "leak", "race:", "invalid ", "missing ", "must ", "illegal",
		"err!", "what went wrong", "--- expected", "did not", "doesn't", "does not", "incompatible", "deprecat",
	},
	cueFail: {
		"fail", "not ok", "✗", "✖", "✕", "✘", "×", "●", "❌", "broken", "<<<", " flaky", "red:", "testcase: ", "[ run ", "not run", "1) ",
	},
	cueSummary: {
		"passed", "tests run", "ran ", "examples", "assertions", "tests:", "tests ", "build ", "problem", "exit", "result", "passing",
		"failing", "suites", "skipped", "completed", "aborting", "runs, ", "executed", "scenarios", "specs",
	},
	cueRule:    {"=== run", "=== cont", "=== name", "running tests:", "=====", "_____", "-----", "*****", "#####"},
	cueFrame:   {".go:", ".py:", ".rs:", ".java:", ".kt:", ".js:", ".ts:", ".c:", ".cc:", ".cpp:", ".h:", ".rb:", ".scala:", ".cs:", ".php:", ".swift:", "file \"", "--> "},
	cueVerdict: verdictParts,
	cueControl: {"\x1b", "\x08", "\x00", "\u009b"},
}

// machine is an Aho-Corasick automaton: next[state+class of a byte] is the next state. A state's
// number is the offset of its row in the table; states that end a word come last.
type machine struct {
	class  [256]uint8
	width  int
	next   []uint16
	accept int // states with this number or a higher one end a word
	cues   []cue
	length []int // length of the longest word that ends in the state
}

var cues = build(words)

// trie is the automaton under construction: children by class of byte, cues, and the state of the
// longest proper suffix.
type trie struct {
	child []int
	cues  cue
	depth int
	fail  int
}

func build(words map[cue][]string) *machine {
	m := &machine{width: 1}
	for _, list := range words {
		for _, w := range list {
			for i := range len(w) {
				if m.class[w[i]] == 0 {
					m.class[w[i]] = uint8(m.width)
					m.width++
				}
			}
		}
	}
	for c := 'a'; c <= 'z'; c++ {
		m.class[c-'a'+'A'] = m.class[c]
	}
	nodes := []trie{{child: make([]int, m.width)}}
	for c, list := range words {
		for _, w := range list {
			at := 0
			for i := range len(w) {
				k := m.class[w[i]]
				if nodes[at].child[k] == 0 {
					nodes[at].child[k] = len(nodes)
					nodes = append(nodes, trie{child: make([]int, m.width)})
				}
				at = nodes[at].child[k]
			}
			nodes[at].cues |= c
			nodes[at].depth = len(w)
		}
	}
	m.number(link(nodes, m.width))
	return m
}

// link sets a successor of every state for every class, breadth first.
func link(nodes []trie, width int) []trie {
	queue := []int{}
	for k := range width {
		if c := nodes[0].child[k]; c != 0 {
			queue = append(queue, c)
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		n := &nodes[at]
		n.cues |= nodes[n.fail].cues
		n.depth = max(n.depth, nodes[n.fail].depth)
		for k := range width {
			if c := n.child[k]; c != 0 {
				nodes[c].fail = nodes[n.fail].child[k]
				queue = append(queue, c)
			} else {
				n.child[k] = nodes[n.fail].child[k]
			}
		}
	}
	return nodes
}

// number arranges the states as rows of a table, with states without cues first.
func (m *machine) number(nodes []trie) {
	row := make([]int, len(nodes))
	var order []int
	for _, accepting := range []bool{false, true} {
		for i, n := range nodes {
			if (n.cues != 0) == accepting {
				row[i] = len(order)
				order = append(order, i)
			}
		}
		if !accepting {
			m.accept = len(order) * m.width
		}
	}
	m.next = make([]uint16, len(order)*m.width)
	m.cues = make([]cue, len(order))
	m.length = make([]int, len(order))
	for i, n := range order {
		m.cues[i], m.length[i] = nodes[n].cues, nodes[n].depth
		for k := range m.width {
			m.next[i*m.width+k] = uint16(row[nodes[n].child[k]] * m.width)
		}
	}
}

// scan reads one line from the beginning of text and returns its cues and its length, without the
// '\n' or '\r' that ends it.
func (m *machine) scan(text string) (found cue, n int) {
	state, next, class := 0, m.next, &m.class
	for n = 0; n < len(text); n++ {
		c := text[n]
		if c == '\n' || c == '\r' {
			return found, n
		}
		state = int(next[state+int(class[c])])
		if state >= m.accept {
			found |= m.cues[state/m.width]
		}
	}
	return found, n
}

// word reports whether one of the words occurs in text as a separate word: not preceded by a letter
// or part of a name, and not followed by more of a name.
func (m *machine) word(text string) bool {
	state := 0
	for i := range len(text) {
		state = int(m.next[state+int(m.class[text[i]])])
		if state < m.accept {
			continue
		}
		from, to := i+1-m.length[state/m.width], i+1
		if from > 0 && (letter(text[from-1]) || strings.IndexByte("_-/.", text[from-1]) >= 0) {
			continue
		}
		if to == len(text) || text[i] == ' ' || text[to] == 's' || !letter(text[to]) && !digit(text[to]) && strings.IndexByte("_-/.", text[to]) < 0 {
			return true
		}
		if strings.HasPrefix(text[to:], ". ") || text[to:] == "." {
			return true
		}
	}
	return false
}
