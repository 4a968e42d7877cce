package agent_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"context"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/luthier-dev/luthier/agent"
)

var update = flag.Bool("update", false, "rewrite the golden transcripts")

// TestTranscripts replays each file in testdata: the chunks that a model sends, turn by turn, and
// the events and history that must result. A file begins with prose that says what it tests.
//
// Evidence: loop · Recorded chunks lead to the expected events and history
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m := newScript()
			for _, f := range ar.Files {
				if f.Name == "model" {
					for text := range strings.SplitSeq(strings.TrimSpace(string(f.Data)), "\n\n") {
						m.turns = append(m.turns, parseTurn(t, text))
					}
				}
			}
			got := playTranscript(t, m)
			if *update {
				ar.Files = []txtar.File{ar.Files[0], {Name: "events", Data: []byte(got)}}
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(ar.Files[1].Data), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// playTranscript runs the script, one call at a time so that the order of events is fixed, and
// records the events.
func playTranscript(t *testing.T, m agent.Model) string {
	a := configured(t, agent.Config{Model: m, Tools: []agent.Tool{okTool("look"), newTool("write", agent.Writing("a"), func(_ context.Context, args string) (*agent.ToolResult, error) {
		return nil, errors.New("disk full; free some space")
	})}, Parallel: 1, Random: func() float64 { return 1 }})
	s := agent.NewSession()
	_, evs, err := tryRun(a, s, "go")
	var b strings.Builder
	var calls []string // calls run concurrently with the stream: their events are listed where they must have arrived at the latest
	flush := func() {
		for _, c := range calls {
			b.WriteString(c)
		}
		calls = nil
	}
	for _, ev := range evs {
		line := describeEvent(ev)
		switch ev := ev.(type) {
		case agent.CallStart, agent.CallDone:
			calls = append(calls, line)
			continue
		case agent.MessageAdded:
			if ev.Message.Role == agent.RoleTool {
				flush()
			}
		}
		b.WriteString(line)
	}
	flush()
	if err != nil {
		fmt.Fprintf(&b, "error %v\n", err)
	}
	return b.String()
}

func describeEvent(ev agent.Event) string {
	switch ev := ev.(type) {
	case agent.CallStart:
		return fmt.Sprintf("CallStart %s %s\n", ev.Call.Name, ev.Call.Args)
	case agent.CallDone:
		return fmt.Sprintf("CallDone %s error=%v %q\n", ev.Call.ID, ev.Result.IsError, ev.Result.Text())
	case agent.MessageAdded:
		return fmt.Sprintf("MessageAdded %s %d parts\n", ev.Message.Role, len(ev.Message.Parts))
	case agent.RetryWait:
		return fmt.Sprintf("RetryWait %d %s %v\n", ev.Attempt, ev.Delay, ev.Err)
	case agent.Done:
		return fmt.Sprintf("Done %s after %d steps, %d calls: %q\n", ev.Result.Stop, ev.Result.Steps, ev.Result.Calls, ev.Result.Text())
	}
	return fmt.Sprintf("%s %+v\n", strings.TrimPrefix(fmt.Sprintf("%T", ev), "agent."), ev)
}

// parseTurn parses one response: one chunk per line.
func parseTurn(t *testing.T, text string) turn {
	var out []agent.Chunk
	for line := range strings.SplitSeq(text, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		f := strings.SplitN(rest, " ", 3)
		num := func(i int) int {
			n, err := strconv.Atoi(f[i])
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			return n
		}
		switch word {
		case "text":
			out = append(out, agent.TextDelta{Text: rest})
		case "think":
			out = append(out, agent.ThinkingDelta{Text: rest})
		case "sign":
			out = append(out, agent.ThinkingDelta{Signature: rest})
		case "call":
			out = append(out, agent.ToolCallStart{Index: num(0), ID: f[1], Name: f[2]})
		case "args":
			_, args, _ := strings.Cut(rest, " ")
			out = append(out, agent.ToolCallDelta{Index: num(0), Args: args})
		case "usage":
			out = append(out, agent.Usage{Input: int64(num(0)), Output: int64(num(1))})
		case "finish":
			out = append(out, agent.Finish{Reason: agent.FinishReason(rest)})
		case "error":
			return fails(agent.ErrorKind(rest), out...)
		default:
			t.Fatalf("unknown chunk %q", line)
		}
	}
	return chunks(out...)
}
