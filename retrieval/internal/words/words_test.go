package words

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// split returns the terms of a word; the term for a whole compound is prefixed with +.
func split(word string) (out []string) {
	var s Splitter
	s.Split([]byte(word), func(t []byte) {
		if t[0] == Whole {
			out = append(out, "+"+string(t[1:]))
			return
		}
		out = append(out, string(t))
	})
	return out
}

func TestSplit(t *testing.T) {
	for word, want := range map[string]string{
		"parse":                         "pars",
		"parseFile":                     "pars file +parsefile",
		"ParseFile":                     "pars file +parsefile",
		"parse_file":                    "pars file +parsefile",
		"PARSE_FILE":                    "pars file +parsefile",
		"_parse":                        "pars",
		"__init__":                      "init",
		"$scope":                        "scop",
		"HTTPServer":                    "http server +httpserver",
		"serveHTTP":                     "serv http +servehttp",
		"parseURLs":                     "pars url +parseurls",
		"userIDs":                       "user id +userids",
		"IDs":                           "id",
		"URLs":                          "url",
		"URLsOf":                        "url +urlsof", // "of" is a stop word
		"HTTPSocket":                    "http socket +httpsocket",
		"utf8":                          "utf +utf8", // a single digit is not a term
		"utf16Decode":                   "utf 16 decod +utf16decode",
		"x2":                            "+x2",
		"x":                             "x",
		"7":                             "7",
		"404":                           "404",
		"0xFF":                          "ff +0xff",
		"TestA":                         "test +testa",
		"the":                           "",
		"self":                          "",
		"theFile":                       "file +thefile",
		"___":                           "",
		"":                              "",
		"straße":                        "straß",
		"naïveParser":                   "naïv parser +naïveparser",
		"日本語":                           "日本語",
		"getÜber":                       "getÜber",
		strings.Repeat("a", MaxWord):    strings.Repeat("a", MaxWord),
		strings.Repeat("a", MaxWord+1):  "",
		strings.Repeat("a_", MaxWord/2): "+" + strings.Repeat("a", MaxWord/2),
		strings.Repeat("Ab", 100):       "",
	} {
		if d := cmp.Diff(want, strings.Join(split(word), " ")); d != "" {
			t.Errorf("%q (-want +got):\n%s", word, d)
		}
	}
}

func stem(w string) string { return string(Stem([]byte(w))) }

// TestStemsMeet: the words in each row have the same stem.
func TestStemsMeet(t *testing.T) {
	for _, row := range []string{
		"parse parses parsed parsing", "file files", "class classes", "process processes processed processing", "query queries",
		"index indexes indexed indexing", "cache caches cached caching", "match matches matched matching", "stop stops stopped stopping",
		"run runs running", "call calls called calling", "test tests tested testing", "value values", "status", "type types typed typing",
		"name names named naming", "make makes making", "code codes coded coding", "save saves saved saving", "log logs logged logging",
		"add adds added adding", "map maps mapped mapping", "get gets getting", "set sets setting", "box boxes boxed boxing", "fix fixes fixed fixing",
		"push pushes pushed pushing", "tie ties", "field fields", "create creates created creating", "handle handles handled handling",
		"timeout timeouts", "hide hiding", "size sizes sized sizing", "wait waits waited waiting", "pass passes passed passing", "move moves moved moving",
		"view views viewed viewing", "delay delays delayed delaying", "tree trees", "embed embeds embedded embedding", "id", "hope hopes hoped hoping", "hop hopping", "node nodes", "key keys",
	} {
		words := strings.Fields(row)
		for _, w := range words[1:] {
			if stem(w) != stem(words[0]) {
				t.Errorf("%s is %s, %s is %s", words[0], stem(words[0]), w, stem(w))
			}
		}
	}
}

// TestStemsStayApart: the words in each row have different stems.
func TestStemsStayApart(t *testing.T) {
	for _, row := range []string{
		"string str strin", "speed spe sped", "process proces", "bus bu", "status statu", "analysis analysi", "thing th", "king k", "ring r",
		"red r", "need ne", "feed fe", "class clas", "bed b", "this thi", "address addres", "file fill", "not note", "cod code", "on one", "hop hope",
		"string strings' std", "car care", "here her", "us use", "bring br", "spring spr", "embed emb", "hopped hoped",
	} {
		words := strings.Fields(row)
		for _, w := range words[1:] {
			if stem(w) == stem(words[0]) {
				t.Errorf("%s and %s are both %s", words[0], w, stem(w))
			}
		}
	}
}

// TestStopWords: words that occur nearly everywhere are not terms, whatever their ending.
func TestStopWords(t *testing.T) {
	for _, w := range strings.Fields("the an and or of to in is it be as at by on if we do so this that with are was not but can you has have from will would should when then than there which what also for else return returns self def func function fn a i") {
		if got := split(w); len(got) > 0 {
			t.Errorf("%s gives %v", w, got)
		}
	}
	for _, w := range []string{"note", "ten", "its", "case", "error", "none"} {
		if len(split(w)) != 1 {
			t.Errorf("%s gives %v", w, split(w))
		}
	}
}

// TestSplitCase checks that texts that differ only in case have the same parts if their words are
// separate.
func TestSplitCase(t *testing.T) {
	for _, w := range []string{"parse", "strings", "indexes"} {
		up := strings.ToUpper(w)
		if d := cmp.Diff(split(w), split(up)); d != "" {
			t.Errorf("%s and %s (-low +up):\n%s", w, up, d)
		}
	}
}

func TestCompound(t *testing.T) {
	for w, want := range map[string]bool{"parseFile": true, "parse_file": true, "Parse": false, "PARSE": false, "HTTP": false, "_a": false, "a_": false, "aB": false, "aBc": true, "": false} {
		if got := Compound([]byte(w)); got != want {
			t.Errorf("%q: %v", w, got)
		}
	}
	if !InWord('a') || !InWord('_') || !InWord('$') || !InWord(0xC3) || InWord('-') || InWord(' ') {
		t.Error("bytes of words")
	}
}
