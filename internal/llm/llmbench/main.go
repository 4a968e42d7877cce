// Command llmbench measures prompt processing and generation of model files, beside llama.cpp when it can.
//
//	go run ./internal/llm/llmbench -m model.gguf                                  # ours alone
//	LLAMA_BENCH=/path/to/llama-bench go run ./internal/llm/llmbench -m a.gguf,b.gguf -t 1,2 -d 0,4096
//
// Both run the same shape of work on the same file with the same number of threads, in turns, so that a machine that
// slows down slows both. It prints medians in tokens per second and their ratio; with one thread that is tokens per
// CPU-second.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

type options struct {
	files    []string
	threads  []int
	depths   []int
	prompt   int
	generate int
	reps     int
	kv       string
	peer     string
	peerArgs []string
}

func main() {
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	fs := flag.NewFlagSet("llmbench", flag.ContinueOnError)
	files := fs.String("m", "", "model files, separated by commas")
	threads := fs.String("t", "1", "numbers of threads")
	depths := fs.String("d", "0", "tokens that are in the context already")
	o := options{peer: os.Getenv("LLAMA_BENCH")}
	fs.IntVar(&o.prompt, "p", 512, "tokens of the prompt; 0 leaves the test out")
	fs.IntVar(&o.generate, "n", 64, "tokens to generate; 0 leaves the test out")
	fs.IntVar(&o.reps, "r", 3, "repetitions; the median counts")
	fs.StringVar(&o.kv, "kv", "f16", "type of the key-value cache: f16, q8_0 or f32")
	peerArgs := fs.String("peer-args", "", "more flags for llama-bench")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	o.files, o.peerArgs = strings.Split(*files, ","), strings.Fields(*peerArgs)
	if *files == "" {
		return o, fmt.Errorf("llmbench: -m is missing; name at least one GGUF file")
	}
	var err error
	if o.threads, err = numbers(*threads); err != nil {
		return o, err
	}
	o.depths, err = numbers(*depths)
	return o, err
}

func numbers(s string) ([]int, error) {
	var list []int
	for f := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(f)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("llmbench: %q is not a list of numbers", s)
		}
		list = append(list, n)
	}
	return list, nil
}

// job is one row of the table.
type job struct {
	file           string
	threads, depth int
	prompt, gen    int // one of them is 0
}

func (j job) name() string {
	s := fmt.Sprintf("pp%d", j.prompt)
	if j.gen > 0 {
		s = fmt.Sprintf("tg%d", j.gen)
	}
	if j.depth > 0 {
		s += fmt.Sprintf(" @ %d", j.depth)
	}
	return s
}

func run(o options) error {
	fmt.Println("| file | threads | test | luthier t/s | llama.cpp t/s | ratio |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, file := range o.files {
		for _, t := range o.threads {
			if err := runFile(o, file, t); err != nil {
				return fmt.Errorf("llmbench: %s: %w", file, err)
			}
		}
	}
	return nil
}

func runFile(o options, file string, threads int) error {
	e, err := open(file, threads, o)
	if err != nil {
		return err
	}
	defer e.close()
	for _, depth := range o.depths {
		for _, j := range []job{{file, threads, depth, o.prompt, 0}, {file, threads, depth, 0, o.generate}} {
			if j.prompt+j.gen == 0 {
				continue
			}
			if err := runJob(o, e, j); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(os.Stderr, "%s with %d threads: loaded in %.2f s, resident %d MiB of a %d MiB file\n", file, threads, e.loaded.Seconds(), residentMiB(), e.size>>20)
	return nil
}

func runJob(o options, e *engine, j job) error {
	var ours, theirs []float64
	for range o.reps {
		speed, err := e.measure(j)
		if err != nil {
			return err
		}
		ours = append(ours, speed)
		if o.peer == "" {
			continue
		}
		speed, err = peer(o, j)
		if err != nil {
			return err
		}
		theirs = append(theirs, speed)
	}
	row := fmt.Sprintf("| %s | %d | %s | %.2f |", base(j.file), j.threads, j.name(), median(ours))
	if theirs == nil {
		fmt.Println(row + " | |")
	} else {
		fmt.Printf("%s %.2f | %.2f |\n", row, median(theirs), median(ours)/median(theirs))
	}
	return nil
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return (s[len(s)/2] + s[(len(s)-1)/2]) / 2
}
