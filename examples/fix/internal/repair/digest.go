package repair

import (
	"bufio"
	"cmp"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxDigestLine limits the length of a line in a digest, in bytes.
const maxDigestLine = 160

// Digest returns the most informative lines of the output of go test, plain, with -v or with -json,
// in at most budget bytes and in their original order: panics and the places in the code where they
// began, compile errors, actual and expected values, and other messages of failing tests. Text that
// differs from run to run (times, temporary directories, addresses) is removed, and so are lines
// that contain nothing but the names of tests. Long lines are shortened in the middle.
func Digest(output string, budget int) string {
	lines := candidates(failingOutput(output))
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lines[b].weight, lines[a].weight) })
	chosen, size := make([]bool, len(lines)), 0
	for _, i := range order {
		if n := len(lines[i].text) + 1; size+n <= budget+1 { // the last line has no line ending
			chosen[i] = true
			size += n
		} else if size == 0 {
			lines[i].text, chosen[i] = squeeze(lines[i].text, budget), true
			break
		}
	}
	var out []string
	for i, l := range lines {
		if chosen[i] && l.text != "" {
			out = append(out, l.text)
		}
	}
	return strings.Join(out, "\n")
}

// failingOutput returns the lines of an output. If the output identifies passing tests, their lines
// are left out.
func failingOutput(output string) []string {
	output = strings.ToValidUTF8(output, "?")
	var segments []segment
	if isJSON(output) {
		segments = jsonSegments(output)
	} else {
		segments = plainSegments(output)
	}
	passed := map[string]bool{}
	for _, s := range segments {
		for _, l := range s.lines {
			if m := verdict.FindStringSubmatch(l); m != nil {
				passed[m[2]] = m[1] != "FAIL"
			}
		}
	}
	var lines []string
	for _, s := range segments {
		if !passed[s.test] {
			lines = append(lines, s.lines...)
		}
	}
	return lines
}

// A segment is a stretch of output of one test, or of none.
type segment struct {
	test  string
	lines []string
}

var (
	verdict = regexp.MustCompile(`^\s*--- (FAIL|PASS|SKIP): (\S+)`)
	turn    = regexp.MustCompile(`^\s*=== (?:RUN|CONT|NAME|PAUSE)\s+(\S*)`)
)

// plainSegments splits plain output at the lines in which go test names the next test.
func plainSegments(output string) []segment {
	segments := []segment{{}}
	for l := range strings.Lines(output) {
		l = strings.TrimRight(l, "\r\n")
		l = l[strings.LastIndexByte(l, 0x16)+1:] // the marker that test2json looks for
		if m := turn.FindStringSubmatch(l); m != nil {
			segments = append(segments, segment{test: m[1]})
			continue
		}
		s := &segments[len(segments)-1]
		if m := verdict.FindStringSubmatch(l); m != nil { // without -v, messages follow it
			segments = append(segments, segment{test: m[2], lines: []string{l}})
			continue
		}
		if strings.HasPrefix(l, "FAIL") || strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ") {
			segments = append(segments, segment{})
			s = &segments[len(segments)-1]
		}
		s.lines = append(s.lines, l)
	}
	return segments
}

// event is a line of -json output.
type event struct{ Action, Package, Test, Output, ImportPath string }

func isJSON(output string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
	var e event
	return strings.HasPrefix(first, "{") && json.Unmarshal([]byte(first), &e) == nil && e.Action != ""
}

// jsonSegments collects the output of each test; lines that are not events belong to no test.
func jsonSegments(output string) []segment {
	var segments []segment
	at := map[string]int{}
	texts := map[int]*strings.Builder{}
	sc := bufio.NewScanner(strings.NewReader(output))
	sc.Buffer(nil, len(output)+1)
	for sc.Scan() {
		var e event
		if json.Unmarshal(sc.Bytes(), &e) != nil || e.Action == "" {
			e = event{Output: sc.Text() + "\n"}
		}
		if e.Output == "" {
			continue
		}
		key := e.Package + e.ImportPath + " " + e.Test
		i, ok := at[key]
		if !ok {
			i = len(segments)
			at[key], texts[i] = i, &strings.Builder{}
			segments = append(segments, segment{test: e.Test})
		}
		texts[i].WriteString(e.Output)
	}
	for i := range segments {
		for l := range strings.Lines(texts[i].String()) {
			l = strings.TrimRight(l, "\r\n")
			if l = l[strings.LastIndexByte(l, 0x16)+1:]; !turn.MatchString(l) {
				segments[i].lines = append(segments[i].lines, l)
			}
		}
	}
	return segments
}

// A telling is a line that may be included in the digest, with its weight.
type telling struct {
	text   string
	weight int
}

// Weights of lines.
const (
	weightPanic   = 100
	weightFrame   = 95
	weightCompile = 90
	weightMessage = 80 // file:line: text
	weightCompare = 70 // got, want and similar
	weightMore    = 50 // continuation of a message
	weightOther   = 10
)

var (
	dropped = regexp.MustCompile(`^\s*$|^\s*--- |^=== |^FAIL\b|^PASS$|^ok\s|^exit status |^coverage: |^goroutine \d+|^created by |^\[signal |` +
		`^# |^\?\s|^testing: warning|^\s*(?:Test|Error Trace):\s|^panic: .* \[recovered\]|^\s*rapid: draw|^Benchmark|^go: downloading `)
	compileError = regexp.MustCompile(`^(?:vet: )?\S+\.go:\d+(?::\d+)?: `)
	message      = regexp.MustCompile(`^\s+\S+\.go:\d+: `)
	comparison   = regexp.MustCompile(`(?i)\b(?:got|want(?:ed)?|expect(?:ed|s)?|actual|have|diff|not equal|mismatch|should)\b|^\s*[-+]\s*\S|!=`)
)

// candidates assigns weights to the lines and drops those that contain no information, or nothing
// new.
func candidates(lines []string) []telling {
	var out []telling
	seen := map[string]bool{}
	add := func(text string, weight int) {
		text = squeeze(clean(text), maxDigestLine)
		if text != "" && !seen[text] {
			seen[text] = true
			out = append(out, telling{text, weight})
		}
	}
	weightOfMore := weightOther
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		switch {
		case strings.HasPrefix(strings.TrimSpace(l), "panic: ") || strings.HasPrefix(l, "fatal error: "):
			add(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(l), " [recovered, repanicked]"), " [recovered]"), weightPanic)
			i = panicEnd(lines, i+1, add)
			weightOfMore = weightOther
		case dropped.MatchString(l):
		case compileError.MatchString(l):
			add(l, weightCompile)
			weightOfMore = weightOther
		case message.MatchString(l):
			add(l, weightMessage)
			weightOfMore = weightMore
		case comparison.MatchString(l):
			add(l, weightCompare)
		default:
			add(l, weightOfMore)
		}
	}
	return out
}

// maxFrames limits the number of frames that are shown for a panic.
const maxFrames = 3

// panicEnd reads the lines that follow a panic, adds the innermost frames of the code under test,
// and returns the index of the panic's last line.
func panicEnd(lines []string, i int, add func(string, int)) int {
	start := i
	for i < len(lines) && !strings.HasPrefix(lines[i], "goroutine ") { // the rest of the message, or "[signal …"
		if strings.HasPrefix(lines[i], "\tpanic: ") || dropped.MatchString(lines[i]) && strings.TrimSpace(lines[i]) != "" && !strings.HasPrefix(lines[i], "[signal ") {
			return max(start, i) - 1
		}
		if i-start < 4 {
			add(lines[i], weightMore)
		}
		i++
	}
	begin := i
	for i < len(lines) && (i == begin || traceLine(lines[i])) {
		i++
	}
	for _, f := range firstFrames(Stack(strings.Join(lines[begin:i], "\n"))) {
		add(path.Base(f.File)+":"+strconv.Itoa(f.Line)+" "+f.Function, weightFrame)
	}
	return i - 1
}

// firstFrames returns the frames to show: the innermost, down to the test itself.
func firstFrames(frames []Frame) []Frame {
	for i, f := range frames[:min(len(frames), maxFrames)] {
		if strings.HasSuffix(f.File, "_test.go") {
			return frames[:i+1]
		}
	}
	return frames[:min(len(frames), maxFrames)]
}

// traceLine reports whether a line belongs to a goroutine trace.
func traceLine(l string) bool {
	_, _, isFrame := frameName(l)
	return l == "" || isFrame || framePos.MatchString(l) || strings.HasPrefix(l, "goroutine ") || strings.HasPrefix(l, "created by ") ||
		strings.HasPrefix(l, "...") && strings.HasSuffix(l, "elided...")
}

var (
	escapes  = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]`)
	goFile   = regexp.MustCompile(`(?:[A-Za-z]:)?(?:[\w.@~+!-]*[/\\])+([\w.-]+\.go:\d+)`)
	tempPath = regexp.MustCompile(`(?:[A-Za-z]:)?(?:[/\\]private)?[/\\](?:tmp|var[/\\]folders|Users[/\\][^/\\\s]+[/\\]AppData[/\\]Local[/\\]Temp|dev[/\\]shm)(?:[/\\][\w.@~+-]+)+`)
	address  = regexp.MustCompile(`\b0xc?[0-9a-f]{6,16}\b`)
	clock    = regexp.MustCompile(`\b\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| ?[-+]\d\d:?\d\d)?(?: [A-Z]{3,4}\b)?(?: m=[-+][\d.]+)?`)
	elapsed  = regexp.MustCompile(`\s*\((?:\d+(?:\.\d+)?(?:ns|µs|us|ms|s|m|h))+\)`)
	portNum  = regexp.MustCompile(`\b(127\.0\.0\.1|localhost|\[::1\]):\d{4,5}\b`)
	blanks   = regexp.MustCompile(`[ \t]{2,}|\t`)
)

// clean removes from a line the parts that differ from run to run.
func clean(l string) string {
	l = escapes.ReplaceAllString(strings.ReplaceAll(l, "\t", " "), "")
	l = goFile.ReplaceAllString(l, "$1")
	l = tempPath.ReplaceAllString(l, "TMP")
	l = address.ReplaceAllString(l, "0x?")
	l = clock.ReplaceAllString(l, "TIME")
	l = elapsed.ReplaceAllString(l, "")
	l = portNum.ReplaceAllString(l, "$1:PORT")
	return strings.TrimSpace(blanks.ReplaceAllString(l, " "))
}

// squeeze shortens a text to at most n bytes by leaving out the middle.
func squeeze(s string, n int) string {
	const mark = "..."
	if len(s) <= n {
		return s
	}
	if n <= 2*len(mark) {
		return strings.ToValidUTF8(s[:max(n, 0)], "")
	}
	head := (n - len(mark)) * 2 / 3
	tail := n - len(mark) - head
	return strings.ToValidUTF8(s[:head], "") + mark + strings.ToValidUTF8(s[len(s)-tail:], "")
}
