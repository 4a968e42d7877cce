package main

// corpus is the text that the vocabularies are learned from: made-up prose and code.
const corpus = `The kettle stands on the stove, and the stove is not on. There are three cups on the table; two of them are green, the
third is the one that nobody uses. When the water boils, the lid begins to rattle. It's time to pour. They've waited for
ten minutes and they'll wait for ten more if the leaves aren't good. We can't say that we weren't told: "Don't leave the
pot alone." I'm sure that he'd agree.

// Pour fills every cup and returns what is left in the pot.
func (p *Pot) Pour(cups []*Cup) (int, error) {
	for i, cup := range cups {
		if cup.Broken {
			return p.Level, fmt.Errorf("pour cup %d of %d: broken", i, len(cups))
		}
		p.Level -= cup.Size
		cup.Level = cup.Size
	}
	return p.Level, nil
}

class Kettle:
    """Boils water."""

    def __init__(self, litres=1.5):
        self.litres = litres
        self.celsius = 20

    def boil(self, target=100):
        while self.celsius < target:
            self.celsius += 5
        return self.celsius

{"name": "brew", "arguments": {"tea": "green", "minutes": 3, "milk": false, "cups": ["a", "b"]}}
{"name": "pour", "arguments": {"cups": 4, "note": null, "text": "two\nlines"}}

import { Tray } from "./tray";
export const weigh = (tray: Tray): number => tray.cups.reduce((sum, cup) => sum + cup.weight, 0);

2026-01-15 12:00:00 INFO  kettle: 100 degrees after 271 s
2026-01-15 12:03:00 WARN  kettle: 95 degrees, 1234567 drops left, 0.25 l
error: expected 4 cups, got 3 (table 17)

Der Kessel steht auf dem Herd, und der Herd ist aus. Über dem Tisch hängt eine größere Lampe. Le thé est très bon; la
théière est vide. Чайник стоит на столе, а чашки стоят на полке. 茶は熱いです。茶碗は三つあります。`

// texts are the inputs of the encoding vectors.
var texts = []string{
	"", " ", "  ", "\n", "\n\n", "\t", " \t\n x", "hello", "Hello, world!", " hello", "  hello   there  ", "Hello\nthere\r\n\r\nyou",
	"The kettle boils water.", "It's time; they've waited, we'll pour, I'm sure he'd agree.", "IT'S TIME, WE'LL POUR",
	"1", "12", "123", "1234", "12345678", "3.14159 and -2e10", "a1b22c333d4444", "2026-01-15 12:00:00",
	"func main() {\n\tfmt.Println(\"two cups\", 2)\n}\n", "def boil(self):\n    return self.celsius  # degrees\n",
	"{\"tea\": \"green\", \"minutes\": 3}", "if x != y && z <= 0 { return -1; }", "path/to/file_name.go:17:5", "....---,,,;;;!!!", " !\" #$ %&",
	"größere Lampe über dem Tisch", "théière très bonne", "Чайник стоит на столе", "茶は熱い", "茶碗は三つ あります。", "ελληνικά και тест",
	"🫖 tea ☕", "e\u0301te\u0301", "한국어", "a\u00a0b", "    four\n        eight\n", "x\n \n  \n   y", "trailing   ", "\n leading",
	"you", "you\n\nhello", "CamelCase snake_case kebab-case", "https://example.com/a?b=c&d=%20", "mixed 茶 and tea 12茶34", "½ ² Ⅷ ٣",
}
