package coding

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"

	"github.com/luthier-dev/luthier/internal/tier"
)

// A legacyText holds comments and messages of programs of some country.
type legacyText struct {
	name    string // of the encoding, as read reports it
	enc     encoding.Encoding
	lines   []string // in the file
	added   string   // what an edit adds
	missing string   // what the encoding does not have
}

var legacyTexts = []legacyText{
	{"ISO-8859-1", charmap.ISO8859_1, []string{"café déjà vu", "naïve façade", "Prüfung der Größe", "señor, ¿qué pasa mañana?"}, "créé à Göteborg", "→"},
	{"Windows-1252", charmap.Windows1252, []string{"“quoted” – text", "l’été à la plage", "5 €, naïve façade"}, "déjà “créé” – €", "ő"},
	{"Windows-1250", charmap.Windows1250, []string{"příliš žluťoučký kůň", "zażółć gęślą jaźń", "árvíztűrő tükörfúrógép"}, "žádný šťastný", "я"},
	{"ISO-8859-2", charmap.ISO8859_2, []string{"proszę wyłączyć ścieżkę", "źródło błędu: łącze", "Łódź, późno, ąęśćżź"}, "gęś żółta", "ñ"},
	{"Windows-1251", charmap.Windows1251, []string{"проверка ввода", "если строка пустая, вернуть ошибку", "Настройки пользователя"}, "новая строка", "é"},
	{"KOI8-R", charmap.KOI8R, []string{"проверка ввода", "если строка пустая, вернуть ошибку", "Настройки пользователя"}, "новая строка", "é"},
	{"IBM866", charmap.CodePage866, []string{"проверка ввода", "если строка пустая, вернуть ошибку", "Настройки пользователя"}, "новая строка", "é"},
	{"GBK", simplifiedchinese.GBK, []string{"如果输入为空，则返回错误", "请检查配置文件", "用户设置的默认值"}, "新的一行，没有内容", "한"},
	{"Big5", traditionalchinese.Big5, []string{"如果輸入為空，則傳回錯誤", "請檢查設定檔的內容", "使用者的預設值"}, "新的一行，沒有內容", "한"},
	{"Shift_JIS", japanese.ShiftJIS, []string{"入力が空の場合はエラーを返します", "設定ファイルを確認してください", "表示する能力のソース"}, "新しい行を追加する。表", "한"},
	{"EUC-JP", japanese.EUCJP, []string{"入力が空の場合はエラーを返します", "設定ファイルを確認してください", "表示する能力のソース"}, "新しい行を追加する。表", "한"},
	{"EUC-KR", korean.EUCKR, []string{"입력이 비어 있으면 오류를 반환합니다", "설정 파일을 확인하십시오", "사용자의 기본값"}, "새로운 줄을 추가한다", "é"},
	{"ISO-8859-7", charmap.ISO8859_7, []string{"έλεγχος εισόδου από τον χρήστη", "αν η γραμμή είναι κενή, επιστρέφει σφάλμα"}, "νέα γραμμή", "é"},
	{"Windows-1255", charmap.Windows1255, []string{"“בדיקת קלט” של המשתמש", "אם השורה ריקה, החזר שגיאה"}, "שורה חדשה", "é"},
	{"ISO-8859-9", charmap.ISO8859_9, []string{"satır boşsa hata döndür", "değişken adı geçersiz olduğunda çık", "ışık ığdır şölen"}, "yeni satır eklendi: ğışı", "я"},
	{"UTF-16LE", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), []string{"café", "値を返す", "новая строка"}, "é 行 я", ""},
	{"UTF-16BE", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), []string{"café", "値を返す", "новая строка"}, "é 行 я", ""},
}

// encoded returns a text in the encoding of l.
func (l *legacyText) encoded(t testing.TB, text string) string {
	t.Helper()
	out, err := l.enc.NewEncoder().String(text)
	if err != nil {
		t.Fatalf("%s: %q: %v", l.name, text, err)
	}
	return out
}

// sources returns programs in several languages with the texts of l in their comments and strings.
func (l *legacyText) sources() map[string]string {
	forms := map[string]string{
		"a.c": "#include <stdio.h>\n\n/* %s */\nint value = 1;\n/* end */\n", "a.py": "# %s\ndef f(x):\n    return x + 1\nvalue = 1\n",
		"a.html": "<html>\n<p>%s</p>\n<b>value</b>\n</html>\n",
	}
	out := map[string]string{}
	for name, form := range forms {
		for _, eol := range []string{"\n", "\r\n"} {
			text := fmt.Sprintf(form, strings.Join(l.lines, "; "))
			out[strings.Trim(eol, "\n")+name] = strings.ReplaceAll(text, "\n", eol)
		}
	}
	return out
}

// TestEncodingsAreKept edits, overwrites and patches programs in old encodings. The files differ in
// the edit only, byte for byte, and read says which encoding it is.
//
// Evidence: coding · Files in Latin-1, GBK, Shift_JIS and 14 more encodings keep it on every write
func TestEncodingsAreKept(t *testing.T) {
	tier.Normal(t)
	edits := 0
	for _, l := range legacyTexts {
		for name, text := range l.sources() {
			name = strings.ReplaceAll(name, "\r", "crlf-")
			w := openWith(t, Config{}, files{name: l.encoded(t, text)})
			shown := do(t, w, "read", args{"path": name})
			contains(t, shown, l.lines[0], "the file is "+l.name)
			for _, e := range []struct{ old, new string }{
				{"value", "number"}, {l.lines[len(l.lines)-1], l.added}, {l.lines[0], l.lines[0] + " " + l.added},
			} {
				want := strings.Replace(text, e.old, e.new, 1)
				do(t, w, "edit", args{"path": name, "old": e.old, "new": e.new})
				if got := content(t, w, name); got != l.encoded(t, want) {
					t.Fatalf("%s, %s: edit %q:\n%q\nwant\n%q", l.name, name, e.new, got, l.encoded(t, want))
				}
				text = want
				edits++
			}
			text = strings.Replace(text, "number", "value "+l.added, 1)
			out := do(t, w, "write", args{"path": name, "content": strings.ReplaceAll(text, "\r\n", "\n")})
			contains(t, out, "written as "+l.name)
			if got := content(t, w, name); got != l.encoded(t, text) {
				t.Errorf("%s, %s: write:\n%q", l.name, name, got)
			}
			first, _, _ := strings.Cut(text, "\n")
			first = strings.TrimSuffix(first, "\r")
			do(t, w, "apply_patch", args{"patch": "*** Begin Patch\n*** Update File: " + name + "\n@@\n-" + first + "\n+" + first + " " + l.added + "\n*** End Patch\n"})
			if got, want := content(t, w, name), l.encoded(t, strings.Replace(text, first, first+" "+l.added, 1)); got != want {
				t.Errorf("%s, %s: apply_patch:\n%q\nwant\n%q", l.name, name, got, want)
			}
			edits += 2
		}
	}
	if edits < 250 {
		t.Errorf("only %d edits", edits)
	}
}

// TestEncodingRefuses: a character that the encoding of a file does not have is refused by every
// tool that writes, and the file stays as it is.
func TestEncodingRefuses(t *testing.T) {
	for _, l := range legacyTexts {
		if l.missing == "" {
			continue
		}
		text := "x = 1\n" + strings.Join(l.lines, "\n") + "\n"
		before := l.encoded(t, text)
		w := openWith(t, Config{}, files{"f": before})
		do(t, w, "read", args{"path": "f"})
		want := []string{"the file is " + l.name, l.missing, "iconv -f " + l.name + " -t UTF-8"}
		refused(t, w, "edit", args{"path": "f", "old": "x = 1", "new": "x = '" + l.missing + "'"}, want...)
		refused(t, w, "write", args{"path": "f", "content": text + l.missing + "\n"}, want...)
		refused(t, w, "write", args{"path": "f", "content": strings.ReplaceAll(text, l.lines[0], "\uFFFD\uFFFD"), "overwrite": true}, "U+FFFD")
		refused(t, w, "apply_patch", args{"patch": "*** Begin Patch\n*** Update File: f\n@@\n-x = 1\n+x = '" + l.missing + "'\n*** End Patch\n"}, want...)
		if got := content(t, w, "f"); got != before {
			t.Errorf("%s: %q", l.name, got)
		}
	}
}

// TestGrepDecodes finds words in files of old encodings, with ripgrep and without, and shows the
// lines as text.
func TestGrepDecodes(t *testing.T) {
	fs := files{"utf8.txt": "café äöü\nплохо\n"}
	for _, l := range legacyTexts[:15] {
		fs[l.name+".txt"] = l.encoded(t, "first line\n"+strings.Join(l.lines, "\n")+"\nlast line\n")
	}
	fs["utf16.txt"] = "\xff\xfe" + legacyTexts[15].encoded(t, "first line\ncafé\n")
	dir := t.TempDir()
	fs.write(t, dir)
	programs := []string{"none"}
	if w := openAt(t, dir, Config{}); w.cfg.Ripgrep != "none" {
		programs = append(programs, "")
	}
	for _, rg := range programs {
		w := openAt(t, dir, Config{Ripgrep: rg})
		for _, l := range legacyTexts[:15] {
			for _, word := range l.lines {
				out := do(t, w, "grep", args{"pattern": word, "literal": true})
				contains(t, out, l.name+".txt\n", ":"+word)
			}
			pattern := strings.ReplaceAll(string([]rune(l.lines[0])[:5]), "?", ".")
			contains(t, do(t, w, "grep", args{"pattern": "^" + pattern + ".*$"}), l.name+".txt\n", ":"+l.lines[0])
		}
		contains(t, do(t, w, "grep", args{"pattern": "caf."}), "ISO-8859-1.txt\n2:café déjà vu", "utf16.txt\n2:café", "utf8.txt\n1:café äöü")
		contains(t, do(t, w, "grep", args{"pattern": "last line", "context": 1}), "GBK.txt\n4-"+legacyTexts[7].lines[2]+"\n5:last line")
		if out := do(t, w, "grep", args{"pattern": `\`, "literal": true}); !strings.Contains(out, "No match") {
			t.Errorf("the second byte of 表 and 能 is no backslash:\n%s", out)
		}
	}
}

// TestReadHugeDecodes shows a part of a file that is too large to be read whole.
func TestReadHugeDecodes(t *testing.T) {
	w := openWith(t, Config{Limits: Limits{FileBytes: 4000}}, nil)
	text := "// 入力が空の場合はエラーを返します\n" + strings.Repeat("// 設定ファイルを確認してください\n", 400)
	data, err := japanese.ShiftJIS.NewEncoder().String(text)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(w.Dir(), "f"), []byte(data), 0o644))
	contains(t, do(t, w, "read", args{"path": "f", "offset": 390, "limit": 2}), "390\t// 設定ファイルを確認してください\n", "the file is Shift_JIS")
}
