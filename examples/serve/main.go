// Command serve offers a model file through an OpenAI-compatible HTTP endpoint.
//
//	go run ./examples/serve -model model.gguf
//	curl localhost:8080/v1/chat/completions -d '{"messages":[{"role":"user","content":"Hello."}]}'
//
// Any OpenAI client can use it: set its base URL to http://localhost:8080/v1. Interrupt it once to
// let running answers end, twice to stop at once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/router/moe"
	"github.com/luthier-dev/luthier/router/serve"
)

type options struct {
	addr, key string
	aliases   string
	origins   string
	path      string
	model     moe.Config
	grace     time.Duration
}

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		context.AfterFunc(ctx, stop) // a second interrupt ends the process
		err = run(ctx, o, nil)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	fs.StringVar(&o.path, "model", "", "GGUF file of the model (required)")
	fs.StringVar(&o.addr, "addr", "127.0.0.1:8080", "address to listen on")
	fs.StringVar(&o.key, "key", os.Getenv("SERVE_KEY"), "API key that clients must send; also SERVE_KEY")
	fs.DurationVar(&o.grace, "grace", 30*time.Second, "how long running answers may take after an interrupt")
	fs.StringVar(&o.model.Name, "name", "", "name of the model for clients; the file's own by default")
	fs.StringVar(&o.aliases, "alias", "", "comma-separated further names of the model for clients; * accepts every name")
	fs.StringVar(&o.origins, "origins", "", "comma-separated web origins whose pages may call the server, such as http://localhost:3000; * allows all")
	fs.StringVar(&o.model.Draft, "draft", "", "GGUF file of a small model with the same vocabulary, to draft for a dense one")
	fs.IntVar(&o.model.Context, "context", 0, "tokens of one conversation at most")
	fs.IntVar(&o.model.KVTokens, "kv-tokens", 0, "tokens that the key-value cache holds for all conversations")
	fs.IntVar(&o.model.Slots, "slots", 0, "requests that run at once")
	fs.IntVar(&o.model.Queue, "queue", 0, "requests that may wait")
	fs.IntVar(&o.model.Threads, "threads", 0, "threads; all CPUs by default")
	kv := fs.String("kv", "", "precision of the key-value cache: f16, q8_0 or f32")
	constrain := fs.String("constrain", "", "how far answers are held to schemas: lenient or off; strict by default")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if o.path == "" {
		return o, errors.New("no model given; run with -model FILE.gguf")
	}
	o.model.KV, o.model.Constrain = moe.KVType(*kv), moe.Constrain(*constrain)
	return o, nil
}

// list splits a flag's value at commas.
func list(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

// run serves until ctx ends. ready, if not nil, is called with the address.
func run(ctx context.Context, o options, ready func(addr string)) error {
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	o.model.Logger = logger
	model, err := moe.Load(o.path, o.model)
	if err != nil {
		return err
	}
	defer model.Close()
	handler, err := serve.New(model, serve.Config{Key: o.key, Aliases: list(o.aliases), Origins: list(o.origins), Metrics: model.EachMetric, Logger: logger})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	logger.Info("serve: listening", "url", "http://"+listener.Addr().String()+"/v1", "model", model.Name(), "tools", model.Format())
	if ready != nil {
		ready(listener.Addr().String())
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	logger.Info("serve: shutting down", "grace", o.grace)
	end, cancel := context.WithTimeout(context.Background(), o.grace)
	defer cancel()
	if err := srv.Shutdown(end); err != nil {
		srv.Close() // running answers are cut off
		return fmt.Errorf("answers were still running after %v and were cut off", o.grace)
	}
	return nil
}
