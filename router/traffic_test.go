package router_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/router/anthropic"
	"github.com/luthier-dev/luthier/router/openai"
)

// exchange is a recorded answer of a server and what it says.
type exchange struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
	API      string `json:"api"`
	Stream   bool   `json:"stream"`
	Response struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	} `json:"response"`
	Expect *struct {
		Text      string `json:"text"`
		Reasoning string `json:"reasoning"`
		Calls     []struct {
			Name string  `json:"name"`
			Args any     `json:"args"`
			Text *string `json:"input_text"` // of a custom tool, whose arguments are any text
		} `json:"tool_calls"`
		Finish string `json:"finish"`
		Usage  *struct {
			Input  *int64 `json:"input_total"`
			Output *int64 `json:"output_total"`
		} `json:"usage"`
		Error json.RawMessage `json:"error"`
	} `json:"expect"`
}

// pieces is a body that is read n bytes at a time.
type pieces struct {
	io.Reader
	n int
}

func (p pieces) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(len(b), p.n)]) }
func (p pieces) Close() error               { return nil }

// played is a transport that answers every request with a recorded response.
type played struct {
	x *exchange
	n int
}

func (p played) RoundTrip(req *http.Request) (*http.Response, error) {
	h := http.Header{}
	for k, v := range p.x.Response.Headers {
		h.Set(k, v)
	}
	return &http.Response{StatusCode: p.x.Response.Status, Header: h, Request: req, Body: pieces{strings.NewReader(p.x.Response.Body), p.n}}, nil
}

func (x *exchange) model(n int) (agent.Model, error) {
	client := &http.Client{Transport: played{x, n}}
	switch x.API {
	case "chat":
		return openai.New(openai.Config{Model: "m", BaseURL: "http://127.0.0.1:1/v1", NoKey: true, HTTPClient: client})
	case "responses":
		return openai.New(openai.Config{Model: "m", API: openai.Responses, BaseURL: "http://127.0.0.1:1/v1", NoKey: true, HTTPClient: client})
	}
	return anthropic.New(anthropic.Config{Model: "m", BaseURL: "http://127.0.0.1:1", HTTPClient: client})
}

// decoded holds the parts of an answer that the test compares.
type decoded struct {
	Text, Reasoning string
	Calls           []string
	Finish          string
	Input, Output   int64
}

func (x *exchange) decode(n int) (decoded, error) {
	m, err := x.model(n)
	if err != nil {
		return decoded{}, err
	}
	res, err := agent.Generate(context.Background(), m, &agent.Request{Messages: []agent.Message{agent.UserText("hi")}})
	d := decoded{Text: res.Message.Text(), Finish: string(res.Finish), Input: res.Usage.Input, Output: res.Usage.Output}
	for _, p := range res.Message.Parts {
		if t, ok := p.(agent.Thinking); ok {
			d.Reasoning += t.Text
		}
	}
	for _, c := range res.Message.Calls() {
		var args any
		if json.Unmarshal(c.Args, &args) != nil {
			args = string(c.Args)
		}
		d.Calls = append(d.Calls, fmt.Sprint(c.Name, " ", args))
	}
	return d, err
}

// want returns the expected decoding in the terms of package agent.
func (x *exchange) want() decoded {
	e := x.Expect
	d := decoded{Text: e.Text, Reasoning: e.Reasoning, Finish: e.Finish}
	for _, c := range e.Calls {
		if c.Text != nil {
			c.Args = map[string]any{"input": *c.Text}
		}
		d.Calls = append(d.Calls, fmt.Sprint(c.Name, " ", c.Args))
	}
	if e.Usage != nil {
		if e.Usage.Input != nil {
			d.Input = *e.Usage.Input
		}
		if e.Usage.Output != nil {
			d.Output = *e.Usage.Output
		}
	}
	return d
}

// TestTraffic decodes recorded answers of many servers, whole and in pieces of 1 and 7 bytes, and
// compares text, reasoning, calls, finish and usage with decodings that share no code with this
// library.
//
// Evidence: backends · Recorded streams of 30 servers decode as another program reads them
func TestTraffic(t *testing.T) {
	tier.Normal(t)
	f, err := os.Open(devdata.Path(t, "ecosystem-dev/traffic.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			x := new(exchange)
			if err := json.Unmarshal(line, x); err != nil {
				t.Fatal(err)
			}
			if x.API == "chat" || x.API == "responses" || x.API == "messages" {
				t.Run(x.ID, func(t *testing.T) { checkExchange(t, x) })
			}
		}
		if err != nil {
			return
		}
	}
}

func checkExchange(t *testing.T, x *exchange) {
	for _, n := range []int{1 << 30, 1, 7} {
		got, err := x.decode(n)
		switch {
		case x.Expect == nil: // not one answer: it must not crash
		case len(x.Expect.Error) > 0 && string(x.Expect.Error) != "null" && string(x.Expect.Error) != "false":
			if err == nil {
				t.Errorf("pieces of %d: no error, want %s", n, x.Expect.Error)
			}
			if x.Response.Status/100 == 2 && got.Text != x.Expect.Text {
				t.Errorf("pieces of %d: the text before the error is %q, want %q", n, got.Text, x.Expect.Text)
			}
		case err != nil:
			t.Errorf("pieces of %d: %v", n, err)
		default:
			if want := x.want(); !reflect.DeepEqual(got, want) {
				t.Errorf("pieces of %d (-want +got):\n%s", n, cmp.Diff(want, got))
			}
		}
		if t.Failed() {
			return
		}
	}
}
