package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// peer runs one repetition of j with llama-bench and returns its tokens per second.
func peer(o options, j job) (float64, error) {
	args := append([]string{"-m", j.file, "-t", strconv.Itoa(j.threads), "-p", strconv.Itoa(j.prompt), "-n", strconv.Itoa(j.gen),
		"-d", strconv.Itoa(j.depth), "-r", "1", "-o", "json"}, o.peerCache()...)
	out, err := output(o.peer, append(args, o.peerArgs...))
	if err != nil {
		return 0, err
	}
	var rows []struct {
		Speed float64 `json:"avg_ts"`
	}
	if err := json.Unmarshal(out, &rows); err != nil || len(rows) != 1 {
		return 0, fmt.Errorf("read what %s printed: %d rows, %v", o.peer, len(rows), err)
	}
	return rows[0].Speed, nil
}

// peerCache returns the flags for the same type of cache. A quantised cache needs llama.cpp's flash
// attention.
func (o options) peerCache() []string {
	args := []string{"-ctk", o.kvName, "-ctv", o.kvName}
	if o.kv != gguf.TypeF16 && o.kv != gguf.TypeF32 {
		args = append(args, "-fa", "on")
	}
	return args
}

// peerBatch generates n tokens in seqs sequences at once with llama-batched-bench and returns their
// tokens per second combined.
func peerBatch(o options, file string, threads, seqs, prompt, n int) (float64, error) {
	args := append([]string{"-m", file, "-t", strconv.Itoa(threads), "-tb", strconv.Itoa(threads), "-c", strconv.Itoa(seqs * (prompt + n + 8)),
		"-npp", strconv.Itoa(prompt), "-ntg", strconv.Itoa(n), "-npl", strconv.Itoa(seqs), "--output-format", "jsonl"}, o.peerCache()...)
	out, err := output(o.batched, append(args, o.peerArgs...))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(out) {
		var r struct {
			Speed float64 `json:"speed_tg"`
		}
		if strings.HasPrefix(string(line), "{") && json.Unmarshal(line, &r) == nil && r.Speed > 0 {
			return r.Speed, nil
		}
	}
	return 0, fmt.Errorf("read what %s printed: no speed in %q", o.batched, out)
}

func output(program string, args []string) ([]byte, error) {
	cmd := exec.Command(program, args...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		_, _ = os.Stderr.Write(problems.Bytes())
		return nil, fmt.Errorf("run %s: %w", program, err)
	}
	return out, nil
}
