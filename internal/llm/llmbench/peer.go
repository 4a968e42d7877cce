package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

// peer runs one repetition of j with llama-bench and returns its tokens per second.
func peer(o options, j job) (float64, error) {
	args := []string{"-m", j.file, "-t", strconv.Itoa(j.threads), "-p", strconv.Itoa(j.prompt), "-n", strconv.Itoa(j.gen),
		"-d", strconv.Itoa(j.depth), "-r", "1", "-o", "json", "-ctk", o.kv, "-ctv", o.kv}
	cmd := exec.Command(o.peer, append(args, o.peerArgs...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", o.peer, err)
	}
	var rows []struct {
		Speed float64 `json:"avg_ts"`
	}
	if err := json.Unmarshal(out, &rows); err != nil || len(rows) != 1 {
		return 0, fmt.Errorf("read what %s printed: %d rows, %v", o.peer, len(rows), err)
	}
	return rows[0].Speed, nil
}
