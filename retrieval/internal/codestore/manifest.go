package codestore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

const (
	manifestName    = "manifest"
	segmentSuffix   = ".seg"
	stateSuffix     = ".stat"
	tempPrefix      = "tmp-"
	lockName        = "lock"
	manifestVersion = 1
	maxManifest     = 256 << 20
)

// A manifest lists the segments of an index. Its file has a line "luthier codestore VERSION
// CHECKSUM LENGTH" followed by the manifest as JSON, so that any version of this code can recognise
// files it does not understand.
type manifest struct {
	Format     string            `json:"format"`
	Version    uint32            `json:"version"`
	Generation uint64            `json:"generation"`
	Segments   []manifestSegment `json:"segments"`
}

type manifestSegment struct {
	Name string `json:"name"`
	Docs int    `json:"docs"`
	Dead []byte `json:"dead,omitempty"` // bitmap; empty if all documents are alive
	Stat string `json:"stat,omitempty"` // name of the file with newer file states
}

func (m *manifest) encode() ([]byte, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("codestore: encode manifest: %w", err)
	}
	head := fmt.Sprintf("luthier codestore %d %08x %d\n", manifestVersion, checksum(body), len(body))
	return append([]byte(head), body...), nil
}

// decodeManifest decodes a manifest of format f. The error describes why it cannot be used.
func decodeManifest(raw []byte, f Format) (*manifest, error) {
	line, body, _ := bytes.Cut(raw, []byte("\n"))
	var version, length int
	var sum uint32
	if !bytes.HasPrefix(line, []byte("luthier codestore ")) {
		return nil, fmt.Errorf("the manifest is not one of this store")
	}
	if _, err := fmt.Sscanf(string(line), "luthier codestore %d", &version); err != nil || version < 1 {
		return nil, fmt.Errorf("the manifest has no version")
	}
	if version > manifestVersion {
		return nil, fmt.Errorf("the manifest was written by a newer version (%d, this is %d)", version, manifestVersion)
	}
	if _, err := fmt.Sscanf(string(line), "luthier codestore %d %x %d", &version, &sum, &length); err != nil || length != len(body) {
		return nil, fmt.Errorf("the manifest is torn")
	}
	if checksum(body) != sum {
		return nil, fmt.Errorf("the checksum of the manifest is wrong")
	}
	var m manifest
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, fmt.Errorf("the manifest cannot be read: %v", err)
	}
	switch {
	case m.Format != f.Name:
		return nil, fmt.Errorf("the index is of format %q, this is %q", m.Format, f.Name)
	case m.Version != f.Version:
		return nil, fmt.Errorf("the index has version %d of its format, this is %d", m.Version, f.Version)
	}
	seen := map[string]bool{}
	for _, s := range m.Segments {
		if seen[s.Name] {
			return nil, fmt.Errorf("the manifest names a segment twice")
		}
		seen[s.Name] = true
		if !plainName(s.Name, segmentSuffix) || s.Stat != "" && !plainName(s.Stat, stateSuffix) {
			return nil, fmt.Errorf("the manifest names a file outside of the index")
		}
	}
	return &m, nil
}

// files returns the names of all files that m names.
func (m *manifest) files() map[string]bool {
	names := map[string]bool{}
	for _, s := range m.Segments {
		names[s.Name] = true
		if s.Stat != "" {
			names[s.Stat] = true
		}
	}
	return names
}

func plainName(name, suffix string) bool {
	return filepath.IsLocal(name) && !strings.ContainsAny(name, `/\:`) && strings.HasSuffix(name, suffix)
}
