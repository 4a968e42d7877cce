package coding

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// A speller writes command lines: what agents write, joined with what shells read in several ways.
// Some of them hold the payload, which must never run by itself.
type speller struct {
	*rand.Rand
	seeds []string
}

const payload = "touch pwned"

func newSpeller(t *testing.T, seed uint64) *speller {
	t.Helper()
	s := &speller{Rand: rand.New(rand.NewPCG(31, seed))}
	for _, name := range []string{"readonly.txt", "refused.txt"} {
		data, err := os.ReadFile("../../internal/shelleffects/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(string(data)) {
			l = strings.NewReplacer(`\N`, "\n", `\t`, "\t").Replace(strings.TrimSuffix(l, "\n"))
			if !strings.Contains(l, `\r`) && l != "" {
				s.seeds = append(s.seeds, l)
			}
		}
	}
	return s
}

func (s *speller) pick(of ...string) string { return of[s.IntN(len(of))] }

// line returns one command line.
func (s *speller) line() string {
	switch s.IntN(6) {
	case 0:
		return s.mutated()
	case 1:
		return s.joined(2)
	}
	return s.command(3)
}

// simple returns a command that only reads.
func (s *speller) simple() string {
	return s.pick("ls", "ls -la", "cat a.txt", "cat f", "head -3 a.txt", "grep -n one a.txt", "wc -l *.txt", "echo hi", "echo \"$x\"", "pwd", "git status", "git diff --stat",
		"cat a.txt | sort | uniq -c", "sed -n 1,2p a.txt", "awk '{print $1}' a.txt", "find . -name '*.txt'", "test -f f && echo yes", "[ -f f ]", "[[ -f f ]]", "printf '%s\\n' x",
		"true", ":", "cut -d: -f1 a.txt", "diff <(ls) <(ls sub)", "sort -u a.txt", "tr a b < f", "rg one", "jq . d.json", "go version", "cd sub && ls", "date", "which ls", "command -v ls",
		"cat {a,b}.txt", "echo {1..3}", "x=1; echo $x", "strings f", "md5sum f", "od -c f | head -2", "stat f", "du -sh .", "basename a/b", "seq 3", "uniq a.txt", "nl f", "type ls")
}

// text returns a word, sometimes one that holds the payload as text.
func (s *speller) text() string {
	return s.pick("a", "f", "x", "E", "-n", "a b", payload, "; "+payload, "$("+payload+")", "`"+payload+"`", "#", "\\", "E\n"+payload, ")", "}", "'", "\"", "é", "日", "$x", "!", "*", "&& "+payload, "\n"+payload+"\n", "$'", "${x", "<<E")
}

// quoted quotes a text in one of many ways, not all of which hold it together.
func (s *speller) quoted() string {
	t := s.text()
	switch s.IntN(12) {
	case 0, 1, 2:
		return "'" + strings.ReplaceAll(t, "'", "x") + "'"
	case 3, 4, 5:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(t) + `"`
	case 6:
		return "$'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`).Replace(t) + "'"
	case 7:
		return `"` + t + `"`
	case 8:
		return "$'" + t + "'"
	case 9:
		return `"$(echo ` + t + `)"`
	case 10:
		return "${x:-" + t + "}"
	}
	return t
}

// comment returns a comment and what may stand behind it.
func (s *speller) comment() string {
	return s.pick(" ", "", ";", " ;", "\n") + "#" + s.pick(" ", "") + s.text() + s.pick("", "", "\\", " \\", "\\\\", "\\\\\\") + "\n" + s.pick(payload, payload, "ls", "")
}

// hereDoc returns a command that reads a here-document.
func (s *speller) hereDoc() string {
	delim := s.pick("E", "E", "E", "'E'", `"E"`, `\E`, `E'F'`, `"E"F`, `$'E'`, `$"E"`, `$'\x45'`, `"E\$x"`, `"E\"`+`F"`, `'E'#x`, `E\`+"\nF", "`E`", "${E}", "$E", `'E F'`, "E-F", "E.F", "''", `""`, `E\\F`, "'E", "{E,F}", "E*", "~", "1", "E)", "E;"+payload)
	b := "cat " + s.pick("", "", "f ", "- ") + s.pick("<<", "<<", "<<-", "<< ", "<<-\t", "<<\\\n", "2<<", "<<<") + delim + s.pick("", "", "", " | sort", " > /dev/null", "; ls", " # x", " # x\\", " \\\n-n", " <<F", " && "+payload, ")", "`") + "\n"
	for range s.IntN(4) {
		b += s.pick(payload, payload, "text", "$x", "$("+payload+")", "`"+payload+"`", "E\\", "E ", "\tE", " E", "EF", "E F", "E\\$x", "E$x", "E#x", "\\x45", "$'E'", "E)", "E`", "\\", "$(echo", ")", "${x:-", "}", "", "'", "\"", "F", "\t"+payload, "E\\\n") + "\n"
	}
	return b + s.pick("E", "E", "E", "EF", "F", "\tE", "", "E F", "E\nF") + s.pick("\n", "", "\n"+payload, "\nls", "\n)")
}

// odd returns a construct that shells, or the parser, may read in several ways.
func (s *speller) odd() string {
	sub := "a[$(" + payload + ")]"
	return s.pick("wait -p '"+sub+"' $!", "wait '"+sub+"'", "printf -v '"+sub+"' x", "printf '%n' '"+sub+"'", "read '"+sub+"' < f", "test -v '"+sub+"'", "[ -v '"+sub+"' ]",
		"[[ -v '"+sub+"' ]]", "o=-v; [ \"$o\" '"+sub+"' ]", "let '"+sub+"'", "((a=1))", "x='"+sub+"'; echo $((x))", "x='"+sub+"'; echo ${y:x}", "x='"+sub+"'; [[ x -eq 1 ]]", "x='$("+payload+")'; echo ${x@P}",
		"unset '"+sub+"'", "declare '"+sub+"=1'", "mapfile '"+sub+"' < f", "break '"+sub+"'", "exit '"+sub+"'", "[ * ]", "for v in *; do [ -f $v ]; done", "time x=./run ls", "x+=./run", "$'./run'",
		"awk {print\\ 1,2\\>\\\"x\\\"}", "awk {print,1,2}", "sed -n $'s/x/\\\\/w sub/g' f", "sed {p,'w x'} f", "sort {-o,x} f", "cat <(ls) <("+payload+")", "echo $(ls)", "echo `ls`", "echo `echo \\`"+payload+"\\``",
		"echo $((1+2))", "echo $((1) + (2))", "((ls); "+payload+")", "echo $((ls); "+payload+")", "{ ls; }", "(ls)", "ls &> /dev/null", "ls |& cat", "ls 2>&1", "ls >&2", "ls 12>x", "case x in x) ls;; esac", "case x in (x) "+payload+";; esac",
		"echo $(case x in x) echo;; esac; "+payload+")", "f() { "+payload+"; }", "!("+payload+")", "echo @(a|b)", "echo a#b", "echo \"a\"#b", "echo \\#b", "a[ls; "+payload+"]=1", "a=(1 $("+payload+"))", "echo ${x/\\}/}; "+payload,
		"echo \"${x:-'}\"; "+payload+" '}\"", "echo ${x:-<("+payload+")}", "echo $[1+1]", "ls \\\n-la", "ls \\\n# x\n"+payload, "ls &&\\\n& "+payload, "l\\\ns", "echo {a,b}{c,$("+payload+")}", "if ls; then pwd; fi", "for i in 1 2; do echo $i; done",
		"for i in {1..3}; do cat f$i; done", "strings @args", "strings *", "md5sum -c sums", "jq -R . -- --arg a ../x", "jq --indent --arg a ../x", "wc -l *", "grep x *", "alias ls='"+payload+"'\nls", "echo !!", "echo ~", "set -- "+payload+"; \"$@\"",
		"ls;;"+payload, "time -p ls", "time ! ls", "! ! ls", "cat <<< x", "cat <<<$(echo x)", "echo -e 'a\\nb'", "[ -n \"$x\" ] || "+payload+"x", "[[ a == a && -f f ]]", "[[ $x =~ (a|b) ]]", "function f { ls; }", "coproc ls", "select i in 1; do ls; done")
}

// command returns a command with something put into it or around it.
func (s *speller) command(depth int) string {
	if depth == 0 {
		return s.pick(s.simple(), s.simple(), s.odd(), "echo "+s.quoted())
	}
	inner := func() string { return s.command(depth - 1) }
	switch s.IntN(14) {
	case 0, 1:
		return s.simple() + s.comment()
	case 2, 3:
		return s.hereDoc()
	case 4:
		return s.simple() + " " + s.quoted()
	case 5:
		return "echo " + s.quoted() + " " + s.quoted() + s.pick("", "#x", "'y'")
	case 6:
		return fmt.Sprintf(s.pick("echo $(%s)", "echo \"$(%s)\"", "echo `%s`", "cat <(%s)", "x=$(%s)", "(%s)", "{ %s; }", "! %s", "time %s", "$(%s)", "echo $( (%s) )", "echo \"`%s`\"", "echo ${x:-$(%s)}"), inner())
	case 7:
		return fmt.Sprintf(s.pick("if true; then %s; fi", "if %s; then ls; fi", "for i in a b; do %s; done", "case x in x) %s;; esac", "for f in *.txt; do %s; done", "if ls\nthen %s\nfi", "{\n%s\n}"), inner())
	case 8, 9:
		return s.odd()
	case 10:
		return s.joined(depth)
	case 11:
		return s.mutated()
	}
	return s.simple() + s.pick(" ", "") + s.pick(">/dev/null", "2>/dev/null", "</dev/null", "&>/dev/null", "| cat", "|| true", "> x", "2>&1", "<<<x", "\\", "#", "")
}

func (s *speller) joined(depth int) string {
	return s.command(depth-1) + s.pick("; ", ";", " && ", " || ", " | ", "\n", " &&\n", " \\\n", " & ", "\n\n", " |& ", ";\\\n", " &&\\\n", "\\\n") + s.command(depth-1)
}

// mutated changes a known command line at random places.
func (s *speller) mutated() string {
	cmd := s.seeds[s.IntN(len(s.seeds))]
	for range 1 + s.IntN(3) {
		at, n := s.IntN(len(cmd)+1), s.IntN(4)
		tok := s.pick(s.text(), s.odd(), "\\\n", "\n", ";", "#", "'", `"`, "`", "$(", ")", "${", "}", "<<E", "\nE\n", "{", "(", "|", "&", "&&", ";;", "<(", "\\", " ", "\t", "$'", payload, "\n"+payload+"\n", "é", "a,b", "E", "$((", "))", "[[", "]]", "time ", "! ", "case x in ", "esac", "do ", "done ")
		switch s.IntN(4) {
		case 0:
			cmd = cmd[:at] + tok + cmd[min(len(cmd), at+n):]
		case 1:
			cmd = cmd[:at] + cmd[min(len(cmd), at+n):]
		default:
			cmd = cmd[:at] + tok + cmd[at:]
		}
	}
	return cmd
}
