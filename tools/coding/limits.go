package coding

import "fmt"

// Limits limit what the tools read, write and show. A zero field means its default.
type Limits struct {
	ReadLines   int // lines one read shows; default 2,000
	ReadBytes   int // bytes of text one read shows; default 64 KiB
	LineBytes   int // bytes of one line that read and grep show; default 2,000
	ImageBytes  int // size in base64 of an image that read attaches, larger ones are scaled down; default 5 MiB
	ImageSide   int // pixels of the longer side of such an image, larger ones are scaled down; default 2,000
	Images      int // images in a conversation beyond which read attaches no more; default 90
	FileBytes   int // size of a text file that can be written, edited or outlined; default 32 MiB
	ListEntries int // entries one list shows; default 400
	Results     int // files that glob names, and lines that grep shows, if the call does not say; default 200
	MaxResults  int // the highest number that a call may request; default 2,000
	MemoryBytes int // size of the memory tool's notes; default 64 KiB
	ShownBytes  int // memory a session may use to merge changes with what was shown; default 64 MiB
}

func (l *Limits) complete() error {
	for _, f := range []struct {
		name string
		v    *int
		def  int
	}{
		{"ReadLines", &l.ReadLines, 2000},
		{"ReadBytes", &l.ReadBytes, 64 << 10},
		{"LineBytes", &l.LineBytes, 2000},
		{"ImageBytes", &l.ImageBytes, 5 << 20},
		{"ImageSide", &l.ImageSide, 2000},
		{"Images", &l.Images, 90},
		{"FileBytes", &l.FileBytes, 32 << 20},
		{"ListEntries", &l.ListEntries, 400},
		{"Results", &l.Results, 200},
		{"MaxResults", &l.MaxResults, 2000},
		{"MemoryBytes", &l.MemoryBytes, 64 << 10},
		{"ShownBytes", &l.ShownBytes, 64 << 20},
	} {
		if *f.v < 0 {
			return fmt.Errorf("%s: %d is negative; use 0 for the default of %d", f.name, *f.v, f.def)
		}
		if *f.v == 0 {
			*f.v = f.def
		}
	}
	l.Results = min(l.Results, l.MaxResults)
	return nil
}
