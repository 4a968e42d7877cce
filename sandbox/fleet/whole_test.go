package fleet

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/sandbox"
)

// fill sets all fields below v, so that the test notices a field that is not transmitted.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface: // an error, which is local to this machine
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i))
		}
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Uint8, reflect.Uintptr:
		v.SetUint(7)
	default:
		v.SetInt(9)
	}
}

// full returns an exit with every field set, including fields that a later version may add.
func full() *sandbox.Exit {
	e := &sandbox.Exit{}
	fill(reflect.ValueOf(e).Elem())
	e.Isolation.Tier = sandbox.TierNamespaces // must be an existing tier
	for i := range e.Isolation.Tried {
		e.Isolation.Tried[i].Tier = sandbox.TierLandlock
	}
	e.Stdout.Spilled, e.Stderr.Spilled = 0, 0 // a command that can be sent never spills
	return e
}

// TestExitTravelsWhole checks that all details of a command's end are transmitted: denials, the
// limit that was exceeded, and every wall.
func TestExitTravelsWhole(t *testing.T) {
	want := full()
	b, err := EncodeResult(&Result{Job: "j", Host: "h", Attempt: 1, Exit: clip(want)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := DecodeResult(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, r.Exit); d != "" {
		t.Errorf("result: %s", d)
	}
	if b, err = encode(&hostAnswer{Exit: toWire(want)}); err != nil {
		t.Fatal(err)
	}
	a, err := decodeAnswer(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, a.Exit.exit()); d != "" {
		t.Errorf("answer: %s", d)
	}
}

// TestLargestExitFits checks that the largest output and denials of a command still fit in a
// message.
func TestLargestExitFits(t *testing.T) {
	out := sandbox.Output{Head: []byte(strings.Repeat("x", MaxOutput)), Tail: []byte(strings.Repeat("x", MaxOutput))}
	e := &sandbox.Exit{Stdout: out, Stderr: out}
	for range 64 {
		e.Denials = append(e.Denials, sandbox.Denial{Call: "openat", Path: strings.Repeat("\x01", 4096), Host: strings.Repeat("<", 4096), Count: 1})
	}
	b, err := EncodeResult(&Result{Job: "j", Host: "h", Attempt: 1, Exit: clip(e)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := DecodeResult(b)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Exit.Denials); n == 0 || n == 64 || r.Exit.Denials[0] != e.Denials[0] {
		t.Errorf("%d denials arrived of 64 that do not fit", n)
	}
}
