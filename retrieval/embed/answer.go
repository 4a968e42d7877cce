package embed

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// answer is the body of a response, with only the fields that matter.
type answer struct {
	Data []struct {
		Index     *int            `json:"index"`
		Embedding json.RawMessage `json:"embedding"`
	} `json:"data"`
	Error json.RawMessage `json:"error"`
}

// parseAnswer returns the vectors of n texts in order. Each must have dim components; if dim is 0,
// all must have the same number.
func parseAnswer(data []byte, n, dim int) ([][]float32, error) {
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("it is no JSON of embeddings: %w", err)
	}
	if len(a.Data) == 0 && len(a.Error) > 0 && n > 0 {
		return nil, fmt.Errorf("it is an error: %s", excerpt(string(a.Error)))
	}
	if len(a.Data) != n {
		return nil, fmt.Errorf("it has %d embeddings for %d texts", len(a.Data), n)
	}
	vectors := make([][]float32, n)
	for i, d := range a.Data {
		at := i // servers that send no indices keep the order
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= n || vectors[at] != nil {
			return nil, fmt.Errorf("embedding %d has the index %d, which is out of range or there twice", i, at)
		}
		v, err := parseVector(d.Embedding)
		if err == nil {
			err = checkVector(v, dim)
		}
		if err != nil {
			return nil, fmt.Errorf("embedding %d: %w", i, err)
		}
		dim = len(v)
		vectors[at] = v
	}
	return vectors, nil
}

// parseVector parses an array of numbers, or base64 of little-endian float32 numbers.
func parseVector(raw json.RawMessage) ([]float32, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' {
		return parseBase64(raw)
	}
	if len(raw) == 0 || raw[0] != '[' || bytes.Contains(raw, []byte("null")) {
		return nil, errors.New("it is neither an array of numbers nor base64")
	}
	var v []float32
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("it is no array of numbers: %w", err)
	}
	return v, nil
}

func parseBase64(raw json.RawMessage) ([]float32, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, err
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("its base64 is damaged: %w", err)
	}
	if len(b)%4 != 0 {
		return nil, fmt.Errorf("its base64 has %d bytes, which are no whole float32 numbers", len(b))
	}
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v, nil
}
