package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

//go:embed recorded.jsonl
var recorded string

// serveRecording answers each request with a recorded stream. The number of answers in the request
// selects it.
func serveRecording() (url string, stop func(), err error) {
	var turns [][]json.RawMessage
	for line := range strings.SplitSeq(strings.TrimSpace(recorded), "\n") {
		var chunks []json.RawMessage
		if err := json.Unmarshal([]byte(line), &chunks); err != nil {
			return "", nil, err
		}
		turns = append(turns, chunks)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct{ Messages []struct{ Role string } }
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		n := 0
		for _, m := range req.Messages {
			if m.Role == "assistant" {
				n++
			}
		}
		if n >= len(turns) {
			http.Error(w, "the recording has no further answer", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, chunk := range turns[n] {
			fmt.Fprintf(w, "data: %s\n\n", chunk)
			http.NewResponseController(w).Flush()
			time.Sleep(5 * time.Millisecond)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	})}
	go srv.Serve(ln)
	return "http://" + ln.Addr().String() + "/v1", func() { srv.Close() }, nil
}
