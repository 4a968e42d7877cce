// Command llmbench measures the engine on model files and, if available, llama.cpp for comparison.
// Each test prints a markdown table.
//
//	go run ./internal/engine/llmbench -m model.gguf                                  # speed of our engine alone
//	LLAMA_BENCH=/path/to/llama-bench go run ./internal/engine/llmbench -m a.gguf,b.gguf -t 1,2 -d 0,4096 -kv q8_0
//	go run ./internal/engine/llmbench -test edit,refused,concurrent,session,load,bandwidth -m a.gguf
//	go run ./internal/engine/llmbench -test draft -m target.gguf -draft small.gguf
//
// The tests:
//
//   - speed: prompt processing and generation, alternately with our engine and llama.cpp on the
//     same file with the same threads, so that a slowdown of the machine affects both. It prints
//     medians in tokens per second; with one thread that is tokens per CPU-second.
//   - edit: files of Go source rewritten with some changes, with and without speculation.
//   - draft: ordinary code with a draft model that is right a given share of the time.
//   - refused: the cost of speculation when nothing is accepted.
//   - concurrent: the throughput of several sequences compared with that of one.
//   - session: the turns of an agent: the number of tokens that are computed twice, and the time to
//     the first token.
//   - load: loading compared with reading the file, and the memory used.
//   - bandwidth: the rate at which generation reads weights, as a share of the memory's read rate.
//
// All tests except speed go through a scheduler.Engine. The networks usually have random weights,
// so the text is scripted: a constraint allows only the next token of the script, and everything
// else is computed as usual.
//
// On a shared machine, use -clock cpu to measure the processor time of this process instead of
// wall-clock time. That is meaningful only with one thread.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

type options struct {
	files    []string
	threads  []int
	depths   []int
	prompt   int
	generate int
	reps     int
	kv       gguf.Type
	kvName   string
	peer     string
	batched  string
	peerArgs []string

	vocab  string
	lines  []int
	edits  []int
	draft  string
	accept float64
	seqs   int
	turns  int
	seed   uint64
	plain  int // bytes of memory to read in order to find the limit
	now    func() time.Time

	profile string
}

// tests maps a test's name to its table, whose rows are printed for each file and number of
// threads.
var tests = map[string]struct {
	head string
	run  func(o options, file string, threads int) error
}{
	"speed":      {"| file | threads | test | luthier t/s | llama.cpp t/s | ratio |", speed},
	"edit":       {"| file | threads | lines | changed | tokens | speculating t/s | plain t/s | ratio | tokens a pass | accepted |", edits},
	"draft":      {"| file | draft | threads | right | drafting t/s | plain t/s | ratio | tokens a pass | accepted |", drafts},
	"refused":    {"| file | threads | drafter | drafting t/s | plain t/s | ratio | drafted | accepted |", refused},
	"concurrent": {"| file | threads | sequences | luthier t/s | one: t/s | ratio | llama.cpp t/s | one: t/s | ratio |", concurrent},
	"session":    {"| file | threads | turns | tokens | computed twice | share | first token p50 | first token max | answers t/s |", session},
	"load":       {"| file | threads | page cache | read s | read into memory s | load s | load:read | load:read into memory | file MiB | KV MiB | resident MiB | beyond file and KV MiB | at most MiB |", load},
	"bandwidth":  {"| file | threads | MiB a token | t/s | GB/s | read limit GB/s | share |", bandwidth},
}

func main() {
	o, names, err := parse(os.Args[1:])
	if err == nil {
		err = runAll(o, names)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "llmbench:", err)
		os.Exit(1)
	}
}

func runAll(o options, names []string) (err error) {
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	for i, name := range names {
		if err != nil {
			break
		}
		if i > 0 {
			fmt.Println()
		}
		err = run(o, name)
	}
	return err
}

func parse(args []string) (o options, names []string, err error) {
	fs := flag.NewFlagSet("llmbench", flag.ContinueOnError)
	o = options{plain: 1 << 30, peer: os.Getenv("LLAMA_BENCH"), batched: os.Getenv("LLAMA_BATCHED_BENCH")}
	test := fs.String("test", "speed", "what to measure, separated by commas: speed, edit, draft, refused, concurrent, session, load, bandwidth")
	files := fs.String("m", "", "model files, separated by commas")
	lists := map[string]*string{
		"t":     fs.String("t", "1", "numbers of threads"),
		"d":     fs.String("d", "0", "speed: tokens that are in the context already"),
		"lines": fs.String("lines", "200,400,800", "edit: lengths of files"),
		"edits": fs.String("edits", "1,5", "edit: percentages of lines changed"),
	}
	fs.IntVar(&o.prompt, "p", 512, "speed: tokens of the prompt; 0 leaves it out")
	fs.IntVar(&o.generate, "n", 64, "tokens to generate; speed: 0 leaves it out")
	fs.IntVar(&o.reps, "r", 3, "repetitions; the median counts")
	fs.StringVar(&o.kvName, "kv", "f16", "type of the key-value cache: f16, q8_0 or f32")
	fs.StringVar(&o.vocab, "vocab", "", "a GGUF file to take the tokenizer from; empty: the model file")
	fs.StringVar(&o.draft, "draft", "", "draft: the file of a small model")
	fs.Float64Var(&o.accept, "accept", 0.8, "draft: the share of tokens the draft has right")
	fs.IntVar(&o.seqs, "seqs", 8, "concurrent: number of sequences")
	fs.IntVar(&o.turns, "turns", 20, "session: number of turns")
	fs.Uint64Var(&o.seed, "seed", 1, "seed of all that is random")
	fs.StringVar(&o.profile, "cpuprofile", "", "write a profile for go tool pprof to this file")
	clock := fs.String("clock", "wall", "wall, or cpu for the processor time of this process")
	peerArgs := fs.String("peer-args", "", "more flags for llama.cpp's programs")
	if err := fs.Parse(args); err != nil {
		return o, nil, err
	}
	names, o.files, o.peerArgs = strings.Split(*test, ","), strings.Split(*files, ","), strings.Fields(*peerArgs)
	if *files == "" {
		return o, nil, fmt.Errorf("-m is missing; name at least one GGUF file")
	}
	for name, dst := range map[string]*[]int{"t": &o.threads, "d": &o.depths, "lines": &o.lines, "edits": &o.edits} {
		if *dst, err = numbers(*lists[name]); err != nil {
			return o, nil, fmt.Errorf("-%s: %w", name, err)
		}
	}
	for _, name := range names {
		if _, ok := tests[name]; !ok {
			return o, nil, fmt.Errorf("-test %q is not known", name)
		}
	}
	var ok bool
	if o.kv, ok = gguf.ParseType(o.kvName); !ok {
		return o, nil, fmt.Errorf("-kv %q is not the name of a type", o.kvName)
	}
	o.now, err = clockOf(*clock)
	return o, names, err
}

func clockOf(name string) (func() time.Time, error) {
	switch name {
	case "wall":
		return time.Now, nil
	case "cpu":
		if cpuTime() > 0 {
			return func() time.Time { return time.Unix(0, cpuTime()) }, nil
		}
		return nil, fmt.Errorf("-clock cpu: this system does not tell the time of a process")
	}
	return nil, fmt.Errorf("-clock is %q; it must be wall or cpu", name)
}

func numbers(s string) ([]int, error) {
	var list []int
	for f := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(f)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is not a list of numbers", s)
		}
		list = append(list, n)
	}
	return list, nil
}

// run prints the table of one test.
func run(o options, name string) error {
	t := tests[name]
	fmt.Println(t.head)
	fmt.Println(strings.Repeat("|---", strings.Count(t.head, "|")-1) + "|")
	for _, file := range o.files {
		for _, threads := range o.threads {
			if err := t.run(o, file, threads); err != nil {
				return fmt.Errorf("%s: %s: %w", name, file, err)
			}
		}
	}
	return nil
}

// row prints a row of a table: strings and whole numbers as they are, fractions with two decimals.
func row(cells ...any) {
	var b strings.Builder
	for _, c := range cells {
		if f, ok := c.(float64); ok {
			c = fmt.Sprintf("%.2f", f)
		}
		fmt.Fprintf(&b, "| %v ", c)
	}
	fmt.Println(b.String() + "|")
}

func percent(a, b int) string {
	if b == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(a)/float64(b))
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return (s[len(s)/2] + s[(len(s)-1)/2]) / 2
}
