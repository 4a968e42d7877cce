package initproc

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

// FuzzParseAnswer reads arbitrary answers, since whoever took over an init process may send
// anything.
func FuzzParseAnswer(f *testing.F) {
	bytesOf := func(a Answer) []byte {
		return bytes.Clone(unsafe.Slice((*byte)(unsafe.Pointer(&a)), answerSize))
	}
	for e := Event(0); e <= Done+1; e++ {
		f.Add(bytesOf(Answer{Event: e, Errno: 13, ID: 1, PID: -1, Stage: StageExec, Path: 1 << 31, Wait: -1, RSS: -1, User: -1}))
	}
	f.Add([]byte(nil))
	f.Add([]byte(`{"event":"exited"}`))
	f.Add(bytes.Repeat([]byte{1}, answerSize+1))
	s := &Script{}
	s.Must("do something", 0)
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := ParseAnswer(b)
		if err != nil {
			if a != (Answer{}) {
				t.Errorf("%v beside %+v", err, a)
			}
			return
		}
		if a.Event < Ready || a.Event > Done || len(b) != answerSize || b[0] >= ' ' {
			t.Errorf("%q is %+v", b, a)
		}
		if s.Explain(&a) == nil {
			t.Error("a refusal without a reason")
		}
		a.Usage()
	})
}

func FuzzParseMaps(f *testing.F) {
	here := reflect.ValueOf(NewParent).Pointer()
	if own, err := os.ReadFile("/proc/self/maps"); err == nil {
		f.Add(string(own), uint64(here))
	}
	f.Add("00400000-00500000 r-xp 00000000 fd:00 12 /bin/x\n00500000-00600000 rw-p 00000000 00:00 0 \nffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n", uint64(0x400000))
	f.Add("0-1 r-xp 0 fd:00 12\n", uint64(0))
	f.Add("5-3 r-xp 0 fd:00 12\n", uint64(4))
	f.Add("0-ffffffffffffffff r-xp 0 fd:00 12 x\n8-9 r-xp 0 fd:00 12 x\n", uint64(1<<63))
	f.Fuzz(func(t *testing.T, text string, here uint64) {
		program, top, err := parseMaps(text, uintptr(here))
		if err != nil {
			if program != (span{}) || top != 0 {
				t.Errorf("%v beside %v, %v", err, program, top)
			}
			return
		}
		if program.low > uintptr(here) || uintptr(here) >= program.high || top < program.high {
			t.Errorf("program %x, top %x, code at %x", program, top, here)
		}
	})
}

// FuzzEncode checks that what is encoded lies within the message, ends in zeros where it must, and
// has the right content.
func FuzzEncode(f *testing.F) {
	f.Add("/bin/sh", "sh\n-c\nexit", "A=b", "/tmp")
	f.Add("", "", "", "")
	f.Add("x\ny", strings.Repeat("a\n", 100), "\xff\x00", "\x00")
	f.Fuzz(func(t *testing.T, paths, args, env, dir string) {
		c := Command{Paths: strings.Split(paths, "\n"), Args: strings.Split(args, "\n"), Env: strings.Split(env, "\n"), Dir: dir}
		m, err := c.Encode()
		if err != nil {
			return
		}
		defer m.Close()
		if m.own != nil {
			return
		}
		body := m.Bytes[headSize:]
		words := unsafe.Slice((*uint64)(unsafe.Pointer(&bytes.Clone(append(body, make([]byte, 8)...))[0])), len(body)/8)
		text := func(at uint64) string {
			s, _, ok := bytes.Cut(body[at:], []byte{0})
			if !ok {
				t.Fatal("a string does not end")
			}
			return string(s)
		}
		w := 0
		for i, list := range [][]string{c.Args, c.Env, c.Paths} {
			for _, want := range list {
				if got := text(words[w]); got != want {
					t.Errorf("%q, want %q", got, want)
				}
				w++
			}
			if i < 2 {
				if words[w] != 0 {
					t.Error("a list does not end")
				}
				w++
			}
		}
	})
}
