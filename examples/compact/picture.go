package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/luthier-dev/luthier/compaction/replay"
)

// draw writes the plot to the file given by -o.
func draw(o *options, reports []report) error {
	p := replay.Picture{Config: o.config(), Bold: "luthier"}
	if strings.HasSuffix(o.out, ".svg") {
		if len(reports) != 1 {
			return fmt.Errorf("-o %s: an .svg holds one run; name a file that ends in .html", o.out)
		}
		return writeFile(o.out, func(w io.Writer) error { return p.WriteSVG(w, reports[0].results) })
	}
	var runs [][]*replay.Result
	for _, r := range reports {
		runs = append(runs, r.results)
	}
	return writeFile(o.out, func(w io.Writer) error { return p.WriteHTML(w, runs) })
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
