package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/luthier-dev/luthier/retrieval"
	"golang.org/x/term"
)

// bar shows progress on a terminal when something takes longer than a second.
type bar struct {
	w     *os.File
	began time.Time
	last  time.Time
	shown bool
}

func newBar(w *os.File) *bar { return &bar{w: w, began: time.Now()} }

func (b *bar) tell(p retrieval.Progress) {
	now := time.Now()
	if now.Sub(b.began) < time.Second || now.Sub(b.last) < 100*time.Millisecond || !term.IsTerminal(int(b.w.Fd())) {
		return
	}
	b.last, b.shown = now, true
	b.clearLine()
	if p.TotalFiles > 0 {
		const width = 30
		done := width * p.Files / p.TotalFiles
		fmt.Fprintf(b.w, "%-8s [%-*s] %d of %d files", p.Stage, width, bars[:done], p.Files, p.TotalFiles)
		return
	}
	fmt.Fprintf(b.w, "%-8s %d", p.Stage, p.Files)
}

const bars = "##############################"

func (b *bar) clearLine() { io.WriteString(b.w, "\r\x1b[K") }

func (b *bar) clear() {
	if b.shown {
		b.clearLine()
	}
}
