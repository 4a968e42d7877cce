// Package dataset keeps training examples in a file. An example has tokens, and for each token the
// weight of predicting it in the loss.
//
//	w, err := dataset.Create("train.set", tok.Size())
//	if err != nil { … }
//	defer w.Abort()
//	e, err := dataset.Encode(tok, state.Prompt(), repair.AnswerRead(2), 10)
//	if err != nil { … }
//	if err := w.Write(e); err != nil { … }
//	if err := w.Close(); err != nil { … }
//	set, err := dataset.Load("train.set")
//
// # The file
//
// All numbers are little-endian. A header of 24 bytes:
//
//	0   8  magic "luthset1"
//	8   4  vocab: every token is less than this; at most 65,536
//	12  4  CRC-32 (IEEE, as zlib.crc32) of all bytes after the header
//	16  8  count of records
//
// and the records, one after another:
//
//	0   4  n, the number of tokens, 1 to 2²⁴
//	4   1  kind
//	5   2n tokens, uint16
//	..  n  weights, uint8, in hundredths: weights[i]/100 is the weight of the loss of predicting tokens[i] from those before it
//
// In Python:
//
//	import numpy as np
//	def load(path):
//	    b = np.fromfile(path, np.uint8)
//	    assert b[:8].tobytes() == b"luthset1"
//	    vocab, count, at = int(b[8:12].view("<u4")[0]), int(b[16:24].view("<u8")[0]), 24
//	    out = []
//	    for _ in range(count):
//	        n, kind = int.from_bytes(b[at:at+4].tobytes(), "little"), int(b[at+4])
//	        tokens = np.frombuffer(b[at+5:at+5+2*n].tobytes(), "<u2")
//	        weights = b[at+5+2*n:at+5+3*n]
//	        out.append((kind, tokens, weights))
//	        at += 5 + 3*n
//	    return vocab, out
package dataset

// An Example is a text to learn from: the tokens of a prompt and its answer.
type Example struct {
	Kind    uint8    // action of the answer: one of the Kind constants or a number defined by the caller
	Tokens  []uint16 // the whole text
	Weights []uint8  // weights of the tokens, in hundredths: Weights[i] is the weight of predicting Tokens[i] from the tokens before it
}

// The kinds of examples that Encode makes. Numbers from 16 on are for kinds that callers define.
const (
	KindText uint8 = iota // text without a tool call
	KindRun               // the answer calls run_tests
	KindRead              // the answer calls read_function
	KindEdit              // the answer calls edit_line
	KindCall              // the answer calls another tool
)

// A Set is a whole file in memory.
type Set struct {
	Vocab    int // every token is less than this
	Examples []Example
}

// limits of the format
const (
	magic      = "luthset1"
	headerSize = 24
	recordSize = 5 // size of a record without its tokens
	maxVocab   = 1 << 16
	maxTokens  = 1 << 24
)
