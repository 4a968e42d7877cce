package charset

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// legacy holds texts as they are in comments and messages of programs, by the name of the encoding
// that Decode must find.
var legacy = map[string]string{
	"ISO-8859-1":   "// café déjà vu, naïve façade; Größe über Straße; año mañana ¿qué?",
	"Windows-1252": "// “smart quotes” – and the €uro… café, naïve",
	"Windows-1250": "// Příliš žluťoučký kůň úpěl ďábelské ódy; zażółć gęślą jaźń",
	"ISO-8859-2":   "// Zażółć gęślą jaźń, proszę wyłączyć ścieżkę źródła",
	"Windows-1251": "// Проверка ввода: если строка пустая, вернуть ошибку",
	"KOI8-R":       "// Проверка ввода: если строка пустая, вернуть ошибку",
	"ISO-8859-5":   "// Проверка ввода: если строка пустая, вернуть ошибку",
	"IBM866":       "// Проверка ввода: если строка пустая, вернуть ошибку",
	"GBK":          "// 如果输入为空，则返回错误信息。请检查配置文件",
	"GB18030":      "// 如果输入为空，则返回错误信息。请检查配置文件 \U0001F600",
	"Big5":         "// 如果輸入為空，則傳回錯誤訊息。請檢查設定檔",
	"Shift_JIS":    "// 入力が空の場合はエラーを返します。設定ファイルを確認してください。表示",
	"EUC-JP":       "// 入力が空の場合はエラーを返します。設定ファイルを確認してください。表示",
	"EUC-KR":       "// 입력이 비어 있으면 오류를 반환합니다. 설정 파일을 확인하십시오.",
	"ISO-8859-7":   "// Έλεγχος εισόδου: αν η γραμμή είναι κενή, επιστρέφει σφάλμα",
	"Windows-1255": "// בדיקת קלט: אם השורה ריקה, החזר שגיאה למשתמש",
	"Windows-1256": "// التحقق من الإدخال: إذا كان السطر فارغا فأرجع خطأ",
	"Windows-874":  "// ตรวจสอบข้อมูลนำเข้า ถ้าบรรทัดว่างให้คืนค่าข้อผิดพลาด",
	"ISO-8859-9":   "// Girdi denetimi: satır boşsa hata döndür, değişken adı geçersiz olduğunda çık",
}

// encoded returns s in an encoding.
func encoded(t testing.TB, name, s string) []byte {
	t.Helper()
	c := named(name)
	if c.name != name {
		t.Fatalf("no encoding %s", name)
	}
	out, err := Text{codec: c, Sure: true}.Encode(s)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

// TestDecode finds the encoding of a source file with one comment in it, reads the text as it was
// written, and writes it back byte for byte.
func TestDecode(t *testing.T) {
	for name, comment := range legacy {
		for _, eol := range []string{"\n", "\r\n"} {
			want := strings.ReplaceAll("package x\n\n"+comment+"\nvar X = \"a\\n\"\n", "\n", eol)
			data := encoded(t, name, want)
			got, ok := Decode(data)
			// Two encodings that agree in all characters of a text cannot be distinguished.
			if !ok || got.String != want || !got.Sure || named(got.Name()).prior > named(name).prior {
				t.Errorf("%s: read as %s, sure %v:\n%s", name, got.Name(), got.Sure, got.String)
				continue
			}
			back, err := got.Encode(got.String)
			if err != nil || !bytes.Equal(back, data) {
				t.Errorf("%s: not written back: %v", name, err)
			}
		}
	}
}

// TestFewCharacters: one accent in a file is enough to know Latin letters.
func TestFewCharacters(t *testing.T) {
	for _, word := range []string{"café", "déjà vu", "über", "Straße", "naïve", "señor", "10 µs", "São Paulo", "Anhänge: ä ö ü ß Ä Ö Ü", "© 2004 Foo", "25 °C", "§ 3", "Ångström", "garçon"} {
		data := encoded(t, "ISO-8859-1", "x = 1 # "+word+"\n")
		got, _ := Decode(data)
		if got.Name() != "ISO-8859-1" || !got.Sure || !strings.Contains(got.String, word) {
			t.Errorf("%s: %s, sure %v: %q", word, got.Name(), got.Sure, got.String)
		}
	}
}

// TestDeclared: what a file says about its own encoding decides where the text alone does not.
func TestDeclared(t *testing.T) {
	for name, text := range map[string]string{
		"ISO-8859-1":   "# -*- coding: iso-8859-1 -*-\nletters = 'ßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿ'\n",
		"KOI8-U":       "# -*- coding: koi8-u -*-\nx = 'Файл'\n",
		"ISO-8859-2":   "<?xml version=\"1.0\" encoding=\"ISO-8859-2\"?>\n<a>á</a>\n",
		"Windows-1250": "/* vim: set fileencoding=cp1250 : */\nchar *s = \"á\";\n",
		"ISO-8859-15":  "@charset \"iso-8859-15\";\n/* é */\n",
		"EUC-KR":       "<meta charset='euc-kr'>\n가나\n",
	} {
		got, _ := Decode(encoded(t, name, text))
		if got.Name() != name || got.String != text {
			t.Errorf("%s: %s %q", name, got.Name(), got.String)
		}
	}
}

// TestMarks keeps every byte order mark, and finds UTF-16 without one.
func TestMarks(t *testing.T) {
	for name, c := range map[string]struct {
		data, want string
		bom        bool
	}{
		"UTF-8":    {markUTF8 + "hé\n", "hé\n", true},
		"UTF-16LE": {markUTF16LE + "h\x00\xe9\x00\n\x00", "hé\n", true},
		"UTF-16BE": {markUTF16BE + "\x00h\x00\xe9\x00\n", "hé\n", true},
		"UTF-32LE": {markUTF32LE + "h\x00\x00\x00\xe9\x00\x00\x00", "hé", true},
		"UTF-32BE": {markUTF32BE + "\x00\x00\x00h\x00\x00\x00\xe9", "hé", true},
		"GB18030":  {markGB18030 + "\xc4\xe3\n", "你\n", true},
	} {
		got, ok := Decode([]byte(c.data))
		if !ok || got.Name() != name || got.String != c.want || got.BOM != c.bom {
			t.Errorf("%s: %s %q", name, got.Name(), got.String)
		}
		back, err := got.Encode(got.String)
		if err != nil || string(back) != c.data {
			t.Errorf("%s: written back as %q: %v", name, back, err)
		}
	}
	for _, c := range []*codec{utf16LECodec, utf16BECodec} {
		for _, text := range []string{"hello\n", "値を返す\n値 = 1\n", "if (x) {\r\n\treturn \"é\";\r\n}\r\n"} {
			data, err := Text{codec: c, Sure: true}.Encode(text)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := Decode(data); !ok || got.codec != c || got.String != text || got.BOM {
				t.Errorf("%s without a mark: %s %q", c.name, got.Name(), got.String)
			}
		}
	}
	for _, data := range []string{"\x7fELF\x02\x01\x01\x00\x00\x00", "a\x00b", "\x00\x01\x02\x03\x04\x05\x06\x07", "PK\x03\x04\x00\x00\x00\x00"} {
		if got, ok := Decode([]byte(data)); ok {
			t.Errorf("%q: %s, text %q", data, got.Name(), got.String)
		}
	}
}

// TestMissing refuses characters that an encoding does not have, and says which.
func TestMissing(t *testing.T) {
	for _, c := range []struct {
		name, char, want string
	}{
		{"ISO-8859-1", "→", `"→"`}, {"ISO-8859-1", "€", "ISO-8859-1"}, {"ISO-8859-1", "\uFFFD", "U+FFFD"}, {"Windows-1252", "ő", "line 2"},
		{"GBK", "😀", "U+1F600"}, {"Shift_JIS", "한", "iconv -f Shift_JIS -t UTF-8"}, {"KOI8-R", "é", "escape"}, {"EUC-KR", "é", "ASCII"},
	} {
		data := encoded(t, c.name, legacy[c.name]+"\n")
		text, _ := Decode(data)
		_, err := text.Encode(text.String + "x" + c.char + "\n")
		missing, ok := errors.AsType[*MissingError](err)
		if !ok || !strings.Contains(err.Error(), strings.Trim(c.want, `"`)) || missing.Line != 2 {
			t.Errorf("%s: %q: %v", c.name, c.char, err)
		}
	}
	text, _ := Decode(encoded(t, "ISO-8859-1", "café\n"))
	if out, err := text.Encode("cafe\u0301 cre\u0301e\n"); string(out) != "caf\xe9 cr\xe9e\n" {
		t.Errorf("decomposed letters: %q %v", out, err)
	}
}

// TestGuess: a file whose encoding is not certain takes ASCII and the characters that it has.
func TestGuess(t *testing.T) {
	data := []byte("a caf\xe9 \x80\n")
	text := decodeWith(named("Windows-1252"), data)
	out, err := text.Encode("new line\n" + text.String)
	if want := "new line\n" + string(data); err != nil || string(out) != want {
		t.Errorf("%q %v", out, err)
	}
	if out, err := text.Encode("é " + text.String); err != nil || string(out) != "\xe9 "+string(data) {
		t.Errorf("a character that the file has: %q %v", out, err)
	}
	if _, err := text.Encode(text.String + "ü"); err == nil || !strings.Contains(err.Error(), "not certain") {
		t.Errorf("a character that nobody knows how to write: %v", err)
	}
}

// TestBroken: bytes without a meaning are kept where the text around them changes, and a U+FFFD
// that the caller writes is refused.
func TestBroken(t *testing.T) {
	data := []byte("über alles: ok\nbroken \xff\xfe here é\nöäü last\nmore ünïcödé text\n")
	text, _ := Decode(data)
	if !text.UTF8() || !text.Broken {
		t.Fatalf("%s %v", text.Name(), text.Broken)
	}
	for old, now := range map[string]string{"alles": "äll", "here": "hier", "last": "läst", "broken \uFFFD": "\uFFFD", "\n": "\r\n"} {
		out, err := text.Encode(strings.ReplaceAll(text.String, old, now))
		want := strings.ReplaceAll(strings.ReplaceAll(text.String, old, now), "\uFFFD\uFFFD", "\xff\xfe")
		if old == "broken \uFFFD" {
			want = strings.Replace(string(data), "broken ", "", 1)
		}
		if err != nil || string(out) != want {
			t.Errorf("%q: %q %v", old, out, err)
		}
	}
	if _, err := text.Encode("\uFFFD\uFFFD\uFFFD\n"); err == nil {
		t.Error("U+FFFD was written")
	}
}

// TestEncodeKeepsBytes changes random lines of files with random bytes. All other lines keep
// theirs.
func TestEncodeKeepsBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 2000 {
		lines := make([][]byte, 1+r.IntN(20))
		for i := range lines {
			line := make([]byte, r.IntN(30))
			for j := range line {
				line[j] = byte(0x20 + r.IntN(0xe0))
				if r.IntN(2) == 0 {
					line[j] = byte('a' + r.IntN(26))
				}
			}
			lines[i] = append(line, '\n')
		}
		data := bytes.Join(lines, nil)
		text, ok := Decode(data)
		if !ok {
			continue
		}
		back, err := text.Encode(text.String)
		if err != nil || !bytes.Equal(back, data) {
			t.Fatalf("round %d: %v\n%q\n%q", round, err, data, back)
		}
		shown := splitLines(text.String)
		if len(shown) != len(lines) {
			t.Fatalf("round %d: %d lines read as %d", round, len(lines), len(shown))
		}
		at := r.IntN(len(lines))
		shown[at], lines[at] = "new text\n", []byte("new text\n")
		back, err = text.Encode(strings.Join(shown, ""))
		if err != nil || !bytes.Equal(back, bytes.Join(lines, nil)) {
			t.Fatalf("round %d (%s): %v\n%q\n%q", round, text.Name(), err, bytes.Join(lines, nil), back)
		}
	}
}

// TestChanges: the spans turn one text into the other, and lie outside of equal lines.
func TestChanges(t *testing.T) {
	for _, c := range []struct {
		old, now string
		want     []span
	}{
		{"a\nb\nc\n", "a\nB\nc\n", []span{{2, 3, "B"}}},
		{"a\nb\nc\n", "c\n", []span{{0, 4, ""}}},
		{"é\nè\n", "é\nê\n", []span{{3, 5, "ê"}}},
		{"", "x", []span{{0, 0, "x"}}},
		{"same", "same", nil},
	} {
		if d := cmp.Diff(c.want, changes(c.old, c.now), cmp.AllowUnexported(span{})); d != "" {
			t.Errorf("%q to %q (-want +got):\n%s", c.old, c.now, d)
		}
	}
}

// FuzzText: whatever a file holds, it is written back byte for byte, and so is what a change leaves
// alone.
func FuzzText(f *testing.F) {
	for name, s := range legacy {
		f.Add(encoded(f, name, s+"\nx\n"), "x\n")
	}
	f.Add([]byte("\xff\xfeh\x00\x00\xd8"), "y")
	f.Add([]byte("a\xff\r\n\xc3\xa9"), "")
	f.Fuzz(func(t *testing.T, data []byte, more string) {
		text, ok := Decode(data)
		if !ok {
			return
		}
		if !utf8.ValidString(text.String) {
			t.Fatalf("not UTF-8: %q", text.String)
		}
		back, err := text.Encode(text.String)
		if err != nil || !bytes.Equal(back, data) {
			t.Fatalf("%s: %v\n%q\n%q", text.Name(), err, data, back)
		}
		if out, err := text.Encode(text.String + "\nz"); err != nil || !bytes.HasPrefix(out, data) {
			t.Fatalf("%s: a line at the end: %v\n%q\n%q", text.Name(), err, data, out)
		}
		out, err := text.Encode(more)
		if err == nil && !text.UTF8() && text.raw == nil {
			if again := decodeWith(text.codec, out[len(text.mark()):]); again.String != more && utf8.ValidString(more) && !strings.ContainsFunc(more, func(r rune) bool { return r > 0x2ff && r < 0x370 }) {
				t.Fatalf("%s: %q written as %q", text.Name(), more, out)
			}
		}
	})
}
