package trigram

import (
	"encoding/binary"
	"hash/crc32"
	"regexp"
	"regexp/syntax"
	"slices"
	"testing"
)

var damageDocs = []string{"func main() {}\n", "package trigram\nfunc Open\n", "nothing here", "the main thing\n", "Ä trigram of main\n"}

func damaged(t testing.TB) (data []byte, q *Query, want []uint32) {
	t.Helper()
	b := NewBuilder()
	for i := range 200 {
		b.Add(uint32(i*3), []byte(damageDocs[i*i%7%len(damageDocs)]))
	}
	data = b.Bytes()
	r, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	if q, err = Compile("main|trigram", syntax.Perl); err != nil {
		t.Fatal(err)
	}
	return data, q, r.Candidates(q)
}

// TestDamage checks that an index with a damaged byte is refused, or selects more candidates than
// necessary, but never fewer.
func TestDamage(t *testing.T) {
	data, q, want := damaged(t)
	refused, more := 0, 0
	for i := range data {
		for _, bit := range []byte{1, 0x80, 0xff} {
			data[i] ^= bit
			r, err := Open(data)
			if err != nil {
				refused++
			} else if got := r.Candidates(q); !superset(got, want) {
				t.Fatalf("byte %d of %d: %d candidates instead of %d", i, len(data), len(got), len(want))
			} else if len(got) > len(want) {
				more++
			}
			data[i] ^= bit
		}
	}
	for n := range data {
		if r, err := Open(data[:n]); err == nil {
			t.Fatalf("cut off at %d of %d and taken: %d documents", n, len(data), len(r.Docs()))
		}
	}
	t.Logf("%d times refused, %d times more candidates", refused, more)
	if refused == 0 || more == 0 {
		t.Error("damage went unnoticed")
	}
}

func superset(got, want []uint32) bool {
	for _, d := range want {
		if _, ok := slices.BinarySearch(got, d); !ok {
			return false
		}
	}
	return true
}

// FuzzOpen changes an index and corrects its checksums, so that the code behind the checks is
// reached.
func FuzzOpen(f *testing.F) {
	data, _, _ := damaged(f)
	f.Add(data, "main|trigram")
	small := NewBuilder()
	f.Add(small.Bytes(), "a")
	small.Add(7, []byte("abcd"))
	f.Add(small.Bytes(), "abcd|x")
	f.Fuzz(func(t *testing.T, data []byte, pattern string) {
		q, err := Compile(pattern, syntax.Perl)
		if err != nil {
			t.Skip()
		}
		data = slices.Clone(data)
		mendSums(data)
		r, err := Open(data)
		if err != nil {
			return
		}
		got := r.Candidates(q)
		if !slices.IsSorted(got) || !superset(r.Docs(), got) {
			t.Fatalf("candidates %v of documents %v", got, r.Docs())
		}
		for key := range uint32(64) {
			r.find(key << 17)
		}
	})
}

// mendSums corrects the checksums, if the sizes in the header allow it.
func mendSums(data []byte) {
	if len(data) < headerSize {
		return
	}
	copy(data, magic)
	le := binary.LittleEndian
	le.PutUint32(data[8:], version)
	le.PutUint32(data[12:], foldVersion())
	listBytes := le.Uint64(data[32:])
	if listBytes > uint64(len(data)-headerSize) {
		return
	}
	groups := (uint64(le.Uint32(data[20:])) + groupSize - 1) / groupSize
	tables := headerSize + uint64(le.Uint32(data[24:])) + groups*anchorSize + uint64(le.Uint32(data[28:]))
	end := tables + uint64(checksSize(listBytes))
	if end+listBytes > uint64(len(data)) {
		return
	}
	lists := data[end : end+listBytes]
	at := tables
	for block := range slices.Chunk(lists, blockSize) {
		le.PutUint32(data[at:], crc32.Checksum(block, castagnoli))
		at += checkSize
	}
	le.PutUint32(data[sumOffset:], tableSum(data[:end]))
}

// FuzzNoneMissing compares with package regexp: no matching document may be missing.
func FuzzNoneMissing(f *testing.F) {
	for _, s := range [][2]string{
		{`(?i)kelvin scale$`, "x \u212aelvin \u017fCALE\r\n"}, {`a(b|cd)*?e{2,3}[^f]`, "abcdabeeg"}, {`^\s*func\s+\w+`, "\n\tfunc x"},
		{"\uFFFD.\xc3\xa9", "\xff\xe9é"}, {`(?s)a.b$`, "a\nb\n"}, {`(?m)^$`, "\n"}, {`\bx\B|[[:^alpha:]]{3}`, "x123"},
		{`(?m)a$\nbc`, "a\nbc"}, {"[a\uFFFD]bc", "\xffbc"}, {`(?m)^ab^c|x$$`, "ab\nx\r\n"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 200 || len(text) > 2000 {
			t.Skip()
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			t.Skip()
		}
		q, err := Compile(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		r := index(t, "other", text)
		if re.MatchString(text) && !slices.Contains(r.Candidates(q), 1) {
			t.Fatalf("%q matches %q, which is no candidate; asked for %s", pattern, text, q)
		}
	})
}
