package digest

import (
	"strings"
	"testing"
)

// all returns every development log in one text.
func all(b *testing.B) string {
	var s strings.Builder
	for _, r := range records(b) {
		s.WriteString(r.Text)
		s.WriteByte('\n')
	}
	return s.String()
}

// BenchmarkDigest digests the development logs one after the other, each to 3 % of its tokens.
func BenchmarkDigest(b *testing.B) {
	rs := records(b)
	size := 0
	for _, r := range rs {
		size += len(r.Text)
	}
	cpuTime(b, size, func() {
		for _, r := range rs {
			Digest(Input{Text: r.Text, Budget: len(r.Text) / 100})
		}
	})
}

// BenchmarkScan measures the scanner, which every byte passes through.
func BenchmarkScan(b *testing.B) {
	logs := all(b)
	cpuTime(b, len(logs), func() {
		for text := logs; text != ""; {
			_, n := cues.scan(text)
			text = text[min(n+1, len(text)):]
		}
	})
}

func BenchmarkParse(b *testing.B) {
	logs := all(b)
	cpuTime(b, len(logs), func() { parse(logs) })
}

func BenchmarkClean(b *testing.B) {
	logs := all(b)
	cpuTime(b, len(logs), func() { Clean(logs) })
}

func BenchmarkFold(b *testing.B) {
	logs := all(b)
	cpuTime(b, len(logs), func() { Fold(logs) })
}
