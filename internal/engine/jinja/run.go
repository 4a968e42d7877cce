package jinja

import (
	"time"
)

// run is the state of one rendering.
type run struct {
	t     *Template
	opts  Options
	given *Dict
	vars  []Value // the template's variables by index, looked up once
	out   []byte  // the text so far; captures cut their part off the end
	stack []Value // arguments of the calls in progress
	fuel  int
	depth int // depth of nested macro calls
}

// maxDepth limits the depth of nested macro calls, as Python's recursion limit does.
const maxDepth = 250

// frame holds the variables of a running function; nil means unset.
type frame struct {
	slots []Value
	outer *frame // of the function around this one
}

// Render renders the template with the variables, which it does not change. If it fails, it returns
// a *RenderError with the line and the reason.
func (t *Template) Render(vars *Dict, opts Options) (string, error) {
	if opts.Fuel <= 0 {
		opts.Fuel = DefaultFuel
	}
	if opts.MaxOutput <= 0 {
		opts.MaxOutput = DefaultMaxOutput
	}
	if opts.Now.IsZero() {
		opts.Now = time.Now()
	}
	if vars == nil {
		vars = NewDict()
	}
	r := &run{t: t, opts: opts, given: vars, fuel: opts.Fuel, vars: make([]Value, len(t.vars))}
	f := &frame{slots: make([]Value, t.size)}
	if _, err := r.exec(t.body, f); err != nil {
		return "", at(1, err)
	}
	return string(r.out), nil
}

// step consumes fuel.
func (r *run) step(n int) error {
	if r.fuel -= n; r.fuel < 0 {
		return limitError("the template took more than %d steps: it loops too long, or Options.Fuel is too low for its input", r.opts.Fuel)
	}
	return nil
}

// grow counts n bytes of text about to be produced against the limit.
func (r *run) grow(n int) error {
	if n > r.opts.MaxOutput {
		return limitError("text is longer than %d bytes: see Options.MaxOutput", r.opts.MaxOutput)
	}
	return r.step(n / 16)
}

// growItems counts n list items about to be produced against the limit.
func (r *run) growItems(n int) error {
	if n > r.opts.MaxOutput/16 {
		return limitError("list is longer than %d items: see Options.MaxOutput", r.opts.MaxOutput/16)
	}
	return r.step(n)
}

// write adds text to the output.
func (r *run) write(s string) error {
	if err := r.grow(len(s)); err != nil {
		return err
	}
	if len(r.out)+len(s) > r.opts.MaxOutput {
		return limitError("output is longer than %d bytes: see Options.MaxOutput", r.opts.MaxOutput)
	}
	r.out = append(r.out, s...)
	return nil
}

// capture runs statements and returns the text that they wrote, instead of leaving it in the
// output.
func (r *run) capture(body []stmt, f *frame) (string, error) {
	mark := len(r.out)
	_, err := r.exec(body, f)
	s := string(r.out[mark:])
	r.out = r.out[:mark]
	return s, err
}

// lookup finds a name that no assignment has set.
func (r *run) lookup(i int) Value {
	if v := r.vars[i]; v != nil {
		return v
	}
	name := r.t.vars[i]
	v, ok := r.given.Get(name)
	if !ok {
		if b, found := globalTable[name]; found {
			v = b
		} else {
			v = &undefined{name: Str(name)}
		}
	}
	r.vars[i] = v
	return v
}

// str is Python's str(v) within the limits.
func (r *run) str(v Value) (string, error) {
	s, err := str(v, r.opts.MaxOutput)
	if err != nil {
		return "", err
	}
	return s, r.step(len(s) / 16)
}
