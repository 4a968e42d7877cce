package testreport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/internal/ansi"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

// jestReport is the JSON of "jest --json" and of vitest's json reporter, which has the same shape.
type jestReport struct {
	NumFailedTests, NumPassedTests, NumPendingTests, NumTodoTests, NumTotalTests int
	NumRuntimeErrorTestSuites                                                    int
	TestResults                                                                  []jestSuite
	Success                                                                      bool
	StartTime                                                                    float64 // milliseconds
}

type jestSuite struct {
	Name             string
	Status           string
	Message          string
	EndTime          float64
	AssertionResults []jestAssertion
}

type jestAssertion struct {
	AncestorTitles  []string
	Title           string
	FullName        string
	Status          string
	FailureMessages []string
}

// maxJestReport is the largest report that is kept for decoding.
const maxJestReport = 64 << 20

// ParseJest reads the standard output of "jest --json" or "vitest run --reporter=json". It skips
// what the tests themselves print: the report is the last line that looks like the start of one, or
// everything from there to the end of the output.
func ParseJest(r io.Reader, paths Paths) (*Report, error) {
	rep := &Report{}
	data, noise, err := jestJSON(r)
	if err != nil {
		return rep, err
	}
	if data == nil {
		rep.Note(noise)
		return rep, nil
	}
	var jr jestReport
	if err := json.Unmarshal(data, &jr); err != nil {
		rep.Note("the runner's JSON report cannot be read: " + err.Error())
		return rep, nil
	}
	rep.Passed, rep.Failed, rep.Skipped = max(jr.NumPassedTests, 0), max(jr.NumFailedTests, 0), max(jr.NumPendingTests, 0)+max(jr.NumTodoTests, 0)
	rep.Complete = true
	var end float64
	for _, s := range jr.TestResults {
		end = max(end, s.EndTime)
		jestSuiteFailures(rep, s, paths)
	}
	if d := end - jr.StartTime; d > 0 && d < 1e9 {
		rep.Elapsed = time.Duration(d * float64(time.Millisecond))
	}
	return rep, nil
}

// jestJSON finds the report in the output.
func jestJSON(r io.Reader) (data []byte, noise string, err error) {
	all, err := io.ReadAll(io.LimitReader(r, maxJestReport+1))
	if err != nil {
		return nil, "", err
	}
	if len(all) > maxJestReport {
		return nil, fmt.Sprintf("the output is larger than %d MiB; run fewer tests at a time", maxJestReport>>20), nil
	}
	for end, tries := len(all), 0; tries < 8; tries++ {
		i := bytes.LastIndex(all[:end], []byte(`{"num`))
		if i < 0 {
			break
		}
		// The decoder stops at the end of the value, whatever follows.
		var raw json.RawMessage
		if json.NewDecoder(bytes.NewReader(all[i:])).Decode(&raw) == nil && bytes.Contains(raw, []byte(`"testResults"`)) {
			return raw, "", nil
		}
		end = i
	}
	var c clipBuf
	c.add(show.Clean(all))
	return nil, c.String(), nil
}

func jestSuiteFailures(rep *Report, s jestSuite, paths Paths) {
	suite := s.Name
	if rel, ok := paths.rel(suite); ok {
		suite = rel
	}
	failed := false
	for _, a := range s.AssertionResults {
		if a.Status != "failed" {
			continue
		}
		failed = true
		text := ansi.Strip(strings.Join(a.FailureMessages, "\n"))
		rep.fail(Failure{
			Suite:   suite,
			Name:    strings.Join(append(a.AncestorTitles[:len(a.AncestorTitles):len(a.AncestorTitles)], a.Title), " > "),
			Message: clipped(jestMessage(text)),
			Frames:  paths.frames(text, ""),
		})
	}
	if s.Status == "failed" && !failed {
		rep.Errors++
		text := ansi.Strip(s.Message)
		if i := strings.Index(text, "Details:\n"); i >= 0 && strings.Contains(text[:i], "Jest encountered an unexpected token") {
			text = text[i+len("Details:\n"):] // the text before it is general advice
		}
		rep.fail(Failure{Suite: suite, Message: clipped(dedent(text)), Frames: paths.frames(text, "")})
	}
}

// jestMessage cuts the stack trace off a failure; its frames in the project are reported
// separately.
func jestMessage(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "    at ") {
			return strings.Join(lines[:i], "\n")
		}
	}
	return text
}

func clipped(s string) string {
	var c clipBuf
	c.add(s)
	return strings.ToValidUTF8(c.String(), "\uFFFD")
}
