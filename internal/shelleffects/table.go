package shelleffects

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// kind is the meaning of a word to the program that receives it.
type kind uint8

const (
	text     kind = iota // plain text: no effect of its own
	file                 // a file whose content is read
	name                 // a path that is listed or examined
	pathGlob             // a pattern for files to read, matched by the program itself
	rev                  // git: a revision, a path, or revision:path
	format               // git: a format, which must not ask for signatures (they run gpg)
	writes               // a path that is created or changed
	deletes              // a path that is removed
	nothing
)

var kinds = map[string]kind{"text": text, "file": file, "name": name, "glob": pathGlob, "rev": rev, "format": format, "write": writes, "delete": deletes, "none": nothing}

// A row describes a program: the options it may have, and what they and its operands mean.
type row struct {
	program  string
	options  map[string]option // by name with its dashes
	operands []kind            // the last one stands for all that follow
	last     kind              // kind of the last operand, if it differs (cp); else nothing
	max      int               // maximum number of operands; -1 for any number
	here     bool              // without operands it reads the working directory
	repo     bool              // it reads the repository
	harmless bool              // no option of the program, in the table or not, does more than read
	first    bool              // options end at the first operand
	goStyle  bool              // options may also be words after a single dash
	plain    bool              // a short option is a separate word, and so is its value
	apart    bool              // the value of a short option is a separate word
	any      bool              // takes every word as plain text
	instead  []string          // options that replace the first operand
	needs    []string          // operands are allowed only with one of these options
	asks     bool              // it requires an option: without one it does something else
}

type option struct {
	takes  kind // nothing means a flag
	joined bool // the value can only be in the same word, and is optional
}

// lookup finds the row of a program, and the words it applies to: "git remote get-url" has its own
// row.
func lookup(program string, args []string) (*row, []string) {
	t := table()
	for n := min(2, len(args)); n >= 1; n-- {
		if subcommands[program] {
			if r := t[program+" "+strings.Join(args[:n], " ")]; r != nil {
				return r, args[n:]
			}
		}
	}
	if subcommands[program] && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return nil, nil
	}
	return t[program], args
}

// subcommands are the programs whose rows include their first words in the name.
var subcommands = map[string]bool{"git": true, "go": true}

// table returns the table parsed from [programs], parsing it on the first call.
var table = sync.OnceValue(func() map[string]*row {
	t := map[string]*row{}
	shared := map[string]string{}
	for line := range strings.Lines(programs + gitPrograms) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "|")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		if len(fields) != 3 {
			panic("shelleffects: table: a row needs three fields: " + line)
		}
		opts := fields[1]
		for n, s := range shared {
			opts = strings.ReplaceAll(opts, n, s)
		}
		if strings.HasPrefix(fields[0], "@") {
			shared[fields[0]] = opts
			continue
		}
		for _, n := range strings.Split(fields[0], ", ") {
			t[n] = newRow(n, strings.Fields(opts), strings.Fields(fields[2]))
		}
	}
	return t
})

func newRow(program string, opts, operands []string) *row {
	r := &row{program: program, options: map[string]option{}, max: -1, last: nothing}
	if !subcommands[strings.Fields(program)[0]] {
		r.options["--help"], r.options["--version"] = option{takes: nothing}, option{takes: nothing}
	}
	for _, o := range opts {
		r.addOption(program, o)
	}
	for _, o := range operands {
		r.addOperand(program, o)
	}
	return r
}

// addOption parses one option of a row: -abc (flags), -NUM (-5), -n=kind, -w?kind (joined only),
// --long, --long=kind, --long?kind.
func (r *row) addOption(program, o string) {
	opt := option{takes: nothing}
	if i := strings.IndexAny(o, "=?"); i > 0 {
		k, ok := kinds[o[i+1:]]
		if !ok {
			panic(fmt.Sprintf("shelleffects: table: %s: unknown kind in %s", program, o))
		}
		opt = option{takes: k, joined: o[i] == '?'}
		o = o[:i]
	}
	if strings.HasPrefix(o, "--") || o == "-NUM" || opt.takes != nothing {
		r.options[o] = opt
		return
	}
	for _, c := range o[1:] {
		r.options["-"+string(c)] = opt
	}
}

// addOperand parses one operand word of a row: a kind, with * for any number, or a property.
func (r *row) addOperand(program, o string) {
	key, value, _ := strings.Cut(o, ":")
	switch key {
	case "harmless":
		r.harmless = true
	case "first":
		r.first = true
	case "go":
		r.goStyle = true
	case "plain":
		r.plain = true
	case "apart":
		r.apart = true
	case "asks":
		r.asks = true
	case "any":
		r.any = true
	case "here":
		r.here = true
	case "repo":
		r.repo = true
	case "instead":
		r.instead = strings.Split(value, ",")
	case "needs":
		r.needs = strings.Split(value, ",")
	case "last":
		r.last = kinds[value]
	default:
		k, ok := kinds[strings.TrimSuffix(key, "*")]
		switch {
		case !ok:
			panic(fmt.Sprintf("shelleffects: table: %s: unknown operand %s", program, o))
		case k == nothing:
			r.max = 0
		case strings.HasSuffix(key, "*"):
			r.operands, r.max = append(r.operands, k), -1
		default:
			r.operands = append(r.operands, k)
			r.max = len(r.operands)
		}
	}
}

// parsed is a command line split according to its row.
type parsed struct {
	used     map[string]string // option → its last value
	operands []string
}

func (p *parsed) has(options ...string) bool {
	for _, o := range options {
		if _, ok := p.used[o]; ok {
			return true
		}
	}
	return false
}

// apply analyses a program by its row.
func (c *call) apply(r *row, args []string) {
	if r.any {
		return
	}
	p := &parsed{used: map[string]string{}}
	if r.asks {
		defer func() {
			if !c.w.fx.Known {
				c.w.fx.Flags |= Executes
			}
		}()
	}
	if !c.split(r, args, p) {
		return
	}
	if r.asks && len(p.used) == 0 {
		c.w.fx.unknown(c.name + " without a question runs what it is given")
		return
	}
	c.operands(r, p)
	if check := checkOf(r.program); check != nil {
		check(c, p)
	}
}

// split sorts words into options and operands. At the first word it cannot place, it reports false
// and makes the result unknown.
func (c *call) split(r *row, args []string, p *parsed) bool {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case strings.ContainsRune(a, markSplit):
			c.w.fx.unknown(c.name + " gets words that only running it shows")
			return false
		case a == "--" && !r.goStyle:
			p.operands = append(p.operands, args[i+1:]...)
			return c.placeable(args[i+1:])
		case startsOpen(a):
			if !r.harmless || strings.ContainsRune(a, markAny) {
				c.w.fx.unknown(c.name + " gets a word that may turn out an option: " + show(a))
				return false
			}
			c.w.leading = union(c.w.leading, c.st.dirs)
			p.operands = append(p.operands, a)
		case len(a) > 1 && a[0] == '-':
			used, ok := c.option(r, a, args[i+1:], p)
			if !ok {
				c.w.fx.unknown(c.name + " has an option whose effects are not known: " + show(a))
				return false
			}
			i += used
		default:
			p.operands = append(p.operands, a)
			if r.first {
				p.operands = append(p.operands, args[i+1:]...)
				return c.placeable(args[i+1:])
			}
		}
	}
	return true
}

// placeable refuses words that may expand to an unknown number of words.
func (c *call) placeable(words []string) bool {
	for _, a := range words {
		if strings.ContainsRune(a, markSplit) {
			c.w.fx.unknown(c.name + " gets words that only running it shows")
			return false
		}
	}
	return true
}

var digits = regexp.MustCompile(`^-[0-9]+$`)

// option handles the option word a; used is the number of following words that are its value.
func (c *call) option(r *row, a string, rest []string, p *parsed) (used int, ok bool) {
	if _, num := r.options["-NUM"]; num && digits.MatchString(a) {
		return 0, true
	}
	if strings.HasPrefix(a, "--") || r.goStyle {
		if r.goStyle && !strings.HasPrefix(a, "--") {
			a = "-" + a
		}
		key, value, joined := strings.Cut(a, "=")
		o, known := r.options[key]
		switch {
		case !known || joined && o.takes == nothing && !r.goStyle:
			return 0, false
		case o.takes == nothing:
			p.used[key] = ""
			return 0, true
		case joined || o.joined:
			return 0, c.value(r, key, o, value, p)
		}
		return c.nextValue(r, key, o, rest, p)
	}
	if r.plain && len(a) != 2 {
		return 0, false
	}
	for i, ch := range a[1:] {
		key := "-" + string(ch)
		o, known := r.options[key]
		value := a[1+i+len(string(ch)):]
		switch {
		case !known:
			return 0, false
		case o.takes == nothing:
			p.used[key] = ""
		case value != "" && r.apart:
			return 0, false
		case value != "" || o.joined:
			return 0, c.value(r, key, o, value, p)
		default:
			return c.nextValue(r, key, o, rest, p)
		}
	}
	return 0, true
}

// nextValue takes the next word as an option's value. One that looks like an option is refused. A
// wildcard may expand to several words, so the word is also treated as the operands that the rest
// of them would be.
func (c *call) nextValue(r *row, key string, o option, rest []string, p *parsed) (int, bool) {
	if len(rest) == 0 {
		return 0, false
	}
	v := rest[0]
	if len(v) > 1 && v[0] == '-' && !digits.MatchString(v) {
		return 0, false // implementations disagree on whether a value follows, so it might be an option
	}
	if strings.ContainsRune(v, markSplit) || startsOpen(v) && strings.ContainsRune(v, markGlob) && !r.harmless {
		return 0, false
	}
	if strings.ContainsRune(v, markGlob) {
		p.operands = append(p.operands, v)
	}
	return 1, c.value(r, key, o, v, p)
}

func (c *call) value(r *row, key string, o option, value string, p *parsed) bool {
	p.used[key] = value
	c.word(o.takes, value)
	return true
}

// operands adds the effects of every operand.
func (c *call) operands(r *row, p *parsed) {
	ops, kinds := p.operands, r.operands
	if len(r.instead) > 0 && p.has(r.instead...) && len(kinds) > 1 {
		kinds = kinds[1:]
	}
	if len(r.needs) > 0 && len(ops) > 0 && !p.has(r.needs...) {
		c.w.fx.unknown(c.name + " with a name may change it")
		return
	}
	if r.max >= 0 && len(ops) > r.max {
		c.w.fx.unknown(c.name + " has more operands than are known to be harmless")
		return
	}
	for i, op := range ops {
		if r.max >= 0 && strings.ContainsRune(op, markGlob) {
			c.w.fx.unknown(c.name + " gets a wildcard that may become several words")
			return
		}
		k := kinds[min(i, len(kinds)-1)]
		if i == len(ops)-1 && r.last != nothing {
			k = r.last
		}
		c.word(k, op)
	}
	if r.repo || r.here && len(ops) < len(kinds) {
		c.w.readName(".", c.st)
	}
}

// word adds the effect of one word of the given kind.
func (c *call) word(k kind, word string) {
	w := c.w
	switch k {
	case file:
		w.readFile(word, c.st)
	case name:
		w.readName(word, c.st)
	case pathGlob:
		if !strings.HasPrefix(word, "!") && secretPath(asGlob(word)) {
			w.fx.flag(Secret, "chooses files that usually hold credentials: "+show(word))
		}
	case rev:
		c.revision(word)
	case format:
		if !static(word) || verifies.MatchString(word) {
			w.fx.unknown("a format may ask to verify signatures, which runs a program")
		}
	case writes:
		w.write(word, c.st, "writes", 0)
	case deletes:
		w.write(word, c.st, "removes", Deletes)
	}
}

// verifies matches the parts of a format that verify a signature: %G? with any modifier, and the
// fields of a ref.
var verifies = regexp.MustCompile(`(?i:signature)|%[^A-Za-z(]*G`)

var globChars = regexp.MustCompile(`\[[^]]*\]|[*?]+`)

// asGlob marks the wildcards of a pattern that the program expands itself, not the shell.
func asGlob(word string) string {
	return globChars.ReplaceAllString(word, string(markGlob))
}
