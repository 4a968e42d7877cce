package patch

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
)

// base85 is the alphabet of git's binary patches.
const base85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// writeBinary writes content as git's "literal": compressed, in lines that begin with a letter for
// their length in bytes.
func writeBinary(w io.Writer, content []byte) {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, _ = z.Write(content) // to memory: cannot fail
	_ = z.Close()
	fmt.Fprintf(w, "literal %d\n", len(content))
	const most = 52
	for b := packed.Bytes(); len(b) > 0; {
		n := min(len(b), most)
		line := []byte{lengthLetter(n)}
		for i := 0; i < n; i += 4 {
			var group [4]byte
			copy(group[:], b[i:n])
			line = append(line, encode85(binary.BigEndian.Uint32(group[:]))...)
		}
		fmt.Fprintf(w, "%s\n", line)
		b = b[n:]
	}
	fmt.Fprintln(w)
}

func lengthLetter(n int) byte {
	if n <= 26 {
		return byte('A' + n - 1)
	}
	return byte('a' + n - 27)
}

func encode85(v uint32) []byte {
	out := make([]byte, 5)
	for i := 4; i >= 0; i-- {
		out[i] = base85[v%85]
		v /= 85
	}
	return out
}
