package coding

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/tier"
)

func TestReadRanges(t *testing.T) {
	var b strings.Builder
	for i := range 25 {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	w := openWith(t, Config{Limits: Limits{ReadLines: 10, LineBytes: 20}}, files{
		"f": b.String(), "empty": "", "open": "no newline", "long": strings.Repeat("é", 100) + "\nshort\n", "crlf": "a\r\nb\r\n", "blank": "\n\n",
	})
	for _, c := range []struct {
		in   args
		want string
	}{
		{args{"path": "f", "offset": 3, "limit": 2}, "3\tline 3\n4\tline 4\n(lines 3-4 of 25; go on with offset 5)"},
		{args{"path": "f", "offset": 24}, "24\tline 24\n25\tline 25\n(lines 24-25 of 25, the end)"},
		{args{"path": "f", "offset": 26}, "(nothing to show: the file has 25 lines, and line 26 was asked for)"},
		{args{"path": "open"}, "1\tno newline"},
		{args{"path": "empty"}, "(the file is empty)"},
		{args{"path": "blank"}, "1\t\n2\t"},
		{args{"path": "crlf"}, "1\ta\n2\tb\n(lines end in CRLF, which is kept; write plain newlines)"},
		{args{"path": "long"}, "1\téééééééééé… [180 bytes more on this line]\n2\tshort\n(lines over 20 bytes are cut)"},
	} {
		if d := cmp.Diff(c.want, do(t, w, "read", c.in)); d != "" {
			t.Errorf("%v (-want +got):\n%s", c.in, d)
		}
	}
	contains(t, do(t, w, "read", args{"path": "f"}), "10\tline 10\n(lines 1-10 of 25; go on with offset 11)")
}

func TestReadIsBounded(t *testing.T) {
	w := openWith(t, Config{Limits: Limits{ReadBytes: 1000}}, files{"f": strings.Repeat(strings.Repeat("x", 99)+"\n", 100)})
	got := do(t, w, "read", args{"path": "f"})
	if len(got) > 1200 {
		t.Errorf("%d bytes", len(got))
	}
	contains(t, got, "go on with offset 10")
}

func TestReadEncodings(t *testing.T) {
	w := openWith(t, Config{}, files{
		"bom": bomUTF8 + "a\n", "le": bomLE + "h\x00\xe9\x00\n\x00", "be": bomBE + "\x00h\x00\xe9\x00\n", "plain16": "h\x00e\x00l\x00l\x00o\x00\n\x00",
		"latin1": "caf\xe9\n", "mixed": "a\r\nb\nc\n",
		"elf": "\x7fELF\x02\x01\x01\x00", "zip": "PK\x03\x04\x00\x00", "pdf": "%PDF-1.7\n", "nul": "a\x00b",
	})
	for name, want := range map[string]string{
		"bom": "1\ta", "le": "1\thé\n(the file is UTF-16LE", "be": "1\thé\n(the file is UTF-16BE", "plain16": "1\thello\n(the file is UTF-16LE",
		"latin1": "1\tcafé\n(the file is ISO-8859-1, shown as UTF-8", "mixed": "line endings are mixed",
	} {
		contains(t, do(t, w, "read", args{"path": name}), want)
	}
	for name, want := range map[string]string{"elf": "ELF program", "zip": "application/zip", "pdf": "pdftotext", "nul": "binary file"} {
		refused(t, w, "read", args{"path": name}, want)
	}
}

func TestEditKeepsEncodings(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"utf-16":  {bomLE + "h\x00i\x00\r\x00\n\x00", bomLE + "h\x00o\x00\r\x00\n\x00"},
		"bom":     {bomUTF8 + "hi\n", bomUTF8 + "ho\n"},
		"latin-1": {"\xe9 hi \xff\n", "\xe9 ho \xff\n"},
		"crlf":    {"x\r\nhi\r\n", "x\r\nho\r\n"},
		"no eol":  {"hi", "ho"},
	} {
		w := openWith(t, Config{}, files{"f": c.before})
		do(t, w, "edit", args{"path": "f", "old": "hi", "new": "ho"})
		if got := content(t, w, "f"); got != c.after {
			t.Errorf("%s: %q, want %q", name, got, c.after)
		}
	}
	w := openWith(t, Config{}, files{"f": bomLE + "h\x00i\x00\x00\xd8"}) // a lone surrogate
	refused(t, w, "edit", args{"path": "f", "old": "hi", "new": "ho"}, "broken UTF-16LE")
}

func TestReadImages(t *testing.T) {
	img := image.NewPaletted(image.Rect(0, 0, 3, 2), color.Palette{color.Black, color.White})
	var pngBuf, jpgBuf, gifBuf bytes.Buffer
	must(t, png.Encode(&pngBuf, img))
	must(t, jpeg.Encode(&jpgBuf, img, nil))
	must(t, gif.Encode(&gifBuf, img, nil))
	webp := "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"
	w := openWith(t, Config{}, files{"a.png": pngBuf.String(), "a.jpg": jpgBuf.String(), "a.gif": gifBuf.String(), "a.webp": webp, "text.png": "not an image\n"})
	for name, want := range map[string]string{"a.png": "image/png", "a.jpg": "image/jpeg", "a.gif": "image/gif", "a.webp": "image/webp"} {
		parts, err := tryCtx(t, context.Background(), w, "read", args{"path": name})
		must(t, err)
		got, ok := parts[len(parts)-1].(agent.Image)
		if !ok || got.MediaType != want || string(got.Data) != content(t, w, name) {
			t.Errorf("%s: %T %s", name, parts[len(parts)-1], got.MediaType)
		}
		if want != "image/webp" {
			contains(t, agent.PartsText(parts), "3×2 pixels")
		}
	}
	contains(t, do(t, w, "read", args{"path": "text.png"}), "1\tnot an image") // the content counts, not the name
	small := openAt(t, w.Dir(), Config{Limits: Limits{ImageBytes: 10}})
	refused(t, small, "read", args{"path": "a.png"}, "more than the 10 bytes", "smaller copy")
}

const notebookText = `{
 "cells": [
  {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "text"]},
  {"cell_type": "code", "execution_count": 3, "metadata": {}, "source": "print('hi')\n1/0", "outputs": [
   {"output_type": "stream", "name": "stdout", "text": ["hi\n"]},
   {"output_type": "display_data", "data": {"image/png": "IMAGE", "text/plain": ["<Figure>"]}, "metadata": {}},
   {"output_type": "execute_result", "data": {"text/plain": ["42"], "application/json": {"a": 1}}, "execution_count": 3, "metadata": {}},
   {"output_type": "error", "ename": "ZeroDivisionError", "evalue": "division by zero", "traceback": ["\u001b[0;31mZeroDivisionError\u001b[0m: division by zero"]}
  ]}
 ],
 "metadata": {"kernelspec": {"language": "python", "name": "python3"}}, "nbformat": 4, "nbformat_minor": 5
}`

func TestReadNotebook(t *testing.T) {
	var pic bytes.Buffer
	must(t, png.Encode(&pic, image.NewGray(image.Rect(0, 0, 1, 1))))
	nb := strings.Replace(notebookText, "IMAGE", base64.StdEncoding.EncodeToString(pic.Bytes()), 1)
	w := openWith(t, Config{}, files{"a.ipynb": nb, "broken.ipynb": "{\"cells\": 1", "other.ipynb": `{"x": 1}`})
	parts, err := tryCtx(t, context.Background(), w, "read", args{"path": "a.ipynb"})
	must(t, err)
	text := agent.PartsText(parts)
	contains(t, text, "# cell 1, markdown", "text", "# cell 2, code, python, run as [3]", "print('hi')", "\thi", "[image/png, attached as image 1]", "\t42",
		"\tZeroDivisionError: division by zero", "read it with raw")
	if img, ok := parts[len(parts)-1].(agent.Image); !ok || !bytes.Equal(img.Data, pic.Bytes()) {
		t.Errorf("the picture is not attached: %T", parts[len(parts)-1])
	}
	contains(t, do(t, w, "read", args{"path": "a.ipynb", "raw": true}), `"cells": [`)
	contains(t, do(t, w, "read", args{"path": "broken.ipynb"}), "1\t{\"cells\": 1")
	contains(t, do(t, w, "read", args{"path": "other.ipynb"}), `{"x": 1}`)
	// Showing the cells is not showing the file: replacing the whole file still requires reading
	// it.
	w2 := openWith(t, Config{}, files{"a.ipynb": nb})
	do(t, w2, "read", args{"path": "a.ipynb"})
	refused(t, w2, "write", args{"path": "a.ipynb", "content": "x"}, "was not read yet")
}

func FuzzNotebook(f *testing.F) {
	f.Add(notebookText)
	f.Add(`{"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": ["x"], "outputs": [{"text": "y"}]}]}]}`)
	f.Add(`{"cells": [{"source": {"a": 1}, "outputs": [{"data": {"image/png": 5}}]}], "nbformat": 4}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		nb, err := parseNotebook(text)
		if err != nil {
			return
		}
		budget := imageBudget{left: 1000, count: 2}
		out := nb.render(&budget)
		if len(budget.parts) > 2 {
			t.Fatal("too many images")
		}
		if max := 20*len(text) + (maxOutputBytes+200)*(1+strings.Count(text, "{")); len(out) > max {
			t.Fatalf("%d bytes of a notebook of %d", len(out), len(text))
		}
	})
}

func TestReadHugeFile(t *testing.T) {
	w := openWith(t, Config{}, nil)
	at := filepath.Join(w.Dir(), "huge.log")
	f, err := os.Create(at)
	must(t, err)
	b := bufio.NewWriterSize(f, 1<<20)
	n := 100_000
	if !testing.Short() {
		n = 300_000
	}
	for i := range n {
		fmt.Fprintf(b, "%09d %s\n", i+1, "the quick brown fox jumps over the lazy dog, again and again, until the log is large")
	}
	fmt.Fprintf(b, "%s\nlast line", strings.Repeat("z", 3<<20))
	must(t, b.Flush())
	// A sparse tail makes the file too large for memory without writing it: 2 GiB of zero bytes on
	// one line.
	must(t, f.Truncate(2<<30))
	must(t, f.Close())
	start := time.Now()
	got := do(t, w, "read", args{"path": "huge.log", "offset": 90_000, "limit": 3})
	contains(t, got, "90000\t000090000 the", "go on with offset 90003", "use grep")
	contains(t, do(t, w, "read", args{"path": "huge.log", "offset": n + 1, "limit": 1}), fmt.Sprintf("%d\tzzz", n+1), "more on this line")
	t.Logf("read a range of a file of 2 GiB in %v", time.Since(start))
	refused(t, w, "edit", args{"path": "huge.log", "old": "a", "new": "b"}, "more than the 32 MiB")
}

// TestReadWhileTheFileChanges reads files that grow, shrink, are replaced and vanish. Whatever is
// shown must be a state that the file really had.
func TestReadWhileTheFileChanges(t *testing.T) {
	tier.Normal(t)
	w := openWith(t, Config{}, files{"f": strings.Repeat("a", 5000) + "\n"})
	at := filepath.Join(w.Dir(), "f")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			c := string(rune('a' + i%26))
			switch i % 4 {
			case 0, 1:
				_ = os.WriteFile(at+".new", []byte(strings.Repeat(c, 5000)+"\n"), 0o644)
				_ = os.Rename(at+".new", at)
			case 2:
				_ = os.Remove(at)
			case 3:
				_ = os.WriteFile(at, []byte(strings.Repeat(c, 5000)+"\n"), 0o644)
			}
			time.Sleep(50 * time.Microsecond)
		}
	}()
	reads, rounds := 0, tier.Pick(60, 200, 1000)
	for range rounds {
		out, err := try(t, w, "read", args{"path": "f"})
		if err != nil {
			continue // gone, or changing all the time
		}
		if out == "(the file is empty)" {
			continue // os.WriteFile truncates first: the file really was empty
		}
		reads++
		line := strings.TrimPrefix(strings.Split(out, "…")[0], "1\t")
		if strings.Trim(line, line[:1]) != "" {
			t.Fatalf("read a mixture of two states: %.50q...", line)
		}
	}
	close(stop)
	<-done
	if reads == 0 {
		t.Skip("the file changed too fast to be read even once")
	}
}
