package toolschema

import (
	"encoding/json"
	"net"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
)

type Common struct {
	ID   string `json:"id" jsonschema:"description=who, or what"`
	Note string `json:"note,omitempty"`
}

type hidden struct {
	Note int `json:"note"` // hides Common.Note in users below
}

type level string

func (level) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{"low", "high"}}
}

type upper string

func (u *upper) UnmarshalText(b []byte) error { *u = upper(strings.ToUpper(string(b))); return nil }

type recursive struct {
	Children []recursive `json:"children"`
}

type mutual struct {
	Other *struct{ Back map[string]mutual } `json:"other"`
}

// TestFromType compares property by property: the schema of each field, and whether it is required.
//
// Evidence: tools · The schema follows from the Go type
func TestFromType(t *testing.T) {
	type in struct {
		Common
		Path    string          `json:"path" jsonschema:"description=a path, relative, no dots,minLength=1,pattern=^[a-z]{1,3}$"`
		Other   string          `json:"other" jsonschema_description:"x, y"`
		Mode    string          `json:"mode,omitempty" jsonschema:"enum=a,enum=b"`
		N       *int            `json:"n" jsonschema:"minimum=1"`
		Limit   int             `json:"limit" jsonschema:"default=5"`
		D       time.Duration   `json:"d" jsonschema:"description=how long, at most"`
		At      time.Time       `json:"at"`
		Any     any             `json:"any"`
		Raw     json.RawMessage `json:"raw,omitempty"`
		M       map[string]int  `json:"m,omitzero"`
		Open    map[string]any  `json:"open"`
		B       []byte          `json:"b"`
		L       []Common        `json:"l" jsonschema:"minItems=1"`
		Arr     [2]bool         `json:"arr"`
		Lvl     level           `json:"lvl"`
		Up      upper           `json:"up"`
		IP      net.IP          `json:"ip"`
		Nul     string          `json:"nul" jsonschema:"nullable"`
		NoTag   float64
		Quoted  int      `json:"quoted,string"`
		Skip    chan int `json:"-"`
		Dash    string   `json:"-,"`
		private func()
		Must    *string  `json:"must" jsonschema:"required"`
		Strs    []string `json:"strs,omitempty" jsonschema:"enum=x,enum=y"`
	}
	v, err := FromType(reflect.TypeFor[*in]())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range v.Get("properties").Members {
		got[m.Key] = string(m.Value.JSON())
	}
	want := map[string]string{
		"id":     `{"type":"string","description":"who, or what"}`,
		"note":   `{"type":["string","null"]}`,
		"path":   `{"type":"string","minLength":1,"pattern":"^[a-z]{1,3}$","description":"a path, relative, no dots"}`,
		"other":  `{"type":"string","description":"x, y"}`,
		"mode":   `{"type":["string","null"],"enum":["a","b",null]}`,
		"n":      `{"type":["integer","null"],"minimum":1}`,
		"limit":  `{"type":"integer","default":5}`,
		"d":      `{"type":"string","pattern":` + quoteJSON(DurationPattern) + `,"description":"how long, at most A duration such as \"30s\", \"1m30s\" or \"2h\"."}`,
		"at":     `{"type":"string","format":"date-time"}`,
		"any":    `{}`,
		"raw":    `{}`,
		"m":      `{"additionalProperties":{"type":"integer"},"type":["object","null"]}`,
		"open":   `{"type":"object"}`,
		"b":      `{"type":"string","contentEncoding":"base64"}`,
		"l":      `{"items":{"properties":{"id":{"type":"string","description":"who, or what"},"note":{"type":["string","null"]}},"additionalProperties":false,"type":"object","required":["id"]},"type":"array","minItems":1}`,
		"arr":    `{"items":{"type":"boolean"},"type":"array","maxItems":2,"minItems":2}`,
		"lvl":    `{"type":"string","enum":["low","high"]}`,
		"up":     `{"type":"string"}`,
		"ip":     `{"type":"string"}`,
		"nul":    `{"type":["string","null"]}`,
		"NoTag":  `{"type":"number"}`,
		"quoted": `{"type":"string"}`,
		"-":      `{"type":"string"}`,
		"must":   `{"type":"string"}`,
		"strs":   `{"items":{"type":"string","enum":["x","y"]},"type":["array","null"]}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	wantRequired := "id path other d at any open b l arr lvl up ip nul NoTag quoted - must"
	if got := strings.Join(strs(v.Get("required")), " "); got != wantRequired {
		t.Errorf("required %q, want %q", got, wantRequired)
	}
	if v.Get("$schema") != nil || v.Get("$id") != nil || v.Get("$defs") != nil || !v.Get("type").IsString("object") {
		t.Errorf("root: %s", v.JSON())
	}
	if b, ok := v.Get("additionalProperties").Bool(); !ok || b {
		t.Error("the object is open")
	}
}

func quoteJSON(s string) string {
	b, _ := json.Marshal(s)
	return strings.ReplaceAll(string(b), `\u003c`, "<")
}

func TestFromTypeHiddenField(t *testing.T) {
	type in struct {
		hidden // first, so that the reflector sees Common's note last
		Inner  struct {
			Note bool `json:"note"`
			Common
		} `json:"inner"`
	}
	v, err := FromType(reflect.TypeFor[in]())
	if err != nil {
		t.Fatal(err)
	}
	if got := string(v.Get("properties").Get("inner").Get("properties").Get("note").JSON()); got != `{"type":"boolean"}` {
		t.Errorf("note: %s", got)
	}
}

func TestFromTypeErrors(t *testing.T) {
	tests := []struct {
		typ  reflect.Type
		want string
	}{
		{reflect.TypeFor[string](), "not a struct; use a struct"},
		{reflect.TypeFor[map[string]any](), "not a struct"},
		{reflect.TypeFor[[]int](), "not a struct"},
		{reflect.TypeFor[time.Time](), "not a struct"},
		{reflect.TypeFor[recursive](), "contains itself"},
		{reflect.TypeFor[mutual](), "contains itself"},
		{reflect.TypeFor[struct{ C chan int }](), ".C: a chan int cannot be an argument"},
		{reflect.TypeFor[struct{ F []func() }](), ".F[]: a func() cannot"},
		{reflect.TypeFor[struct{ U url.URL }](), "use a string"},
		{reflect.TypeFor[struct{ M map[struct{ X int }]string }](), "string keys"},
		{reflect.TypeFor[struct{ E error }](), "interface error"},
		{reflect.TypeFor[struct {
			N int `jsonschema:"default=many"`
		}](), `default "many" does not fit`},
	}
	for _, tt := range tests {
		_, err := FromType(tt.typ)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %q", tt.typ, err, tt.want)
		}
	}
}

func TestDecoder(t *testing.T) {
	type in struct {
		D     time.Duration            `json:"d"`
		P     *time.Duration           `json:"p,omitempty"`
		L     []time.Duration          `json:"l,omitempty"`
		M     map[string]time.Duration `json:"m,omitempty"`
		Inner struct {
			D time.Duration `json:"d"`
		} `json:"inner"`
		N int     `json:"n"`
		F float64 `json:"f"`
	}
	var got in
	d := NewDecoder(reflect.TypeFor[in]())
	args := `{"d":"1m30s","p":null,"l":["1s","2ms"],"m":{"a":"3h"},"inner":{"d":"4s"},"n":5.0,"f":1e2}`
	if err := d.Decode(json.RawMessage(args), &got); err != nil {
		t.Fatal(err)
	}
	want := in{D: 90 * time.Second, L: []time.Duration{time.Second, 2 * time.Millisecond}, M: map[string]time.Duration{"a": 3 * time.Hour}, N: 5, F: 100}
	want.Inner.D = 4 * time.Second
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for args, want := range map[string]string{
		`{"l":["1s","soon"]}`:        `"soon" is not a duration`,
		`{"n":5.5}`:                  "n: number 5.5 does not fit",
		`{"n":99999999999999999999}`: "does not fit",
	} {
		if err := d.Decode(json.RawMessage(args), &got); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
