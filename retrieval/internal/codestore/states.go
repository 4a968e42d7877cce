package codestore

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// A file of states holds newer file states for all documents of one segment: the magic line below,
// the states, and a checksum of both.
const statesMagic = "LUTHSTA\n"

func encodeStates(states []byte) (raw []byte, name string) {
	raw = append([]byte(statesMagic), states...)
	raw = binary.LittleEndian.AppendUint32(raw, checksum(raw))
	sum := sha256.Sum256(raw)
	return raw, hex.EncodeToString(sum[:12]) + stateSuffix
}

func decodeStates(raw []byte, docs int) ([]byte, bool) {
	n := len(raw) - 4
	if n != len(statesMagic)+stateSize*docs || string(raw[:len(statesMagic)]) != statesMagic {
		return nil, false
	}
	if checksum(raw[:n]) != binary.LittleEndian.Uint32(raw[n:]) {
		return nil, false
	}
	return raw[len(statesMagic):n], true
}
