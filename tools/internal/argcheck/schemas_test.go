package argcheck

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/tier"
)

type schemaFile struct {
	name   string
	Schema json.RawMessage
	Tests  []struct {
		Description string
		Valid       bool
		Data        json.RawMessage
	}
}

// schemaCorpus reads the real-world schemas with labelled instances.
func schemaCorpus(t testing.TB) []schemaFile {
	t.Helper()
	names := devdata.Glob(t, "schema-dev/data/*.json")
	var files []schemaFile
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f := schemaFile{name: filepath.Base(name)}
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatal(name, err)
		}
		files = append(files, f)
	}
	return files
}

// TestSchemaCorpus: validation alone accepts every valid instance and refuses every invalid one,
// formats included. Repairing leaves valid instances unchanged, byte for byte, and its result for
// an invalid instance is valid.
func TestSchemaCorpus(t *testing.T) {
	tier.Normal(t)
	var valid, invalid, mended int
	for _, f := range schemaCorpus(t) {
		c, err := Compile(f.Schema, Config{})
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
			continue
		}
		for i, x := range f.Tests {
			err := c.Validate(x.Data)
			if (err == nil) != x.Valid {
				t.Errorf("%s test %d (%s): valid = %v, want %v: %v", f.name, i, x.Description, err == nil, x.Valid, err)
			}
			out, notes, err := c.Repair(x.Data)
			switch {
			case x.Valid:
				valid++
				if err != nil || string(out) != string(x.Data) || len(notes) > 0 {
					t.Errorf("%s test %d: a valid instance was changed: %v %v", f.name, i, notes, err)
				}
			case err == nil:
				invalid++
				mended++
				if err := c.Validate(out); err != nil || len(notes) == 0 {
					t.Errorf("%s test %d: mended to something invalid or silently: %v", f.name, i, err)
				}
				if testing.Verbose() {
					t.Logf("%s: mended: %v", f.name, notes)
				}
			default:
				invalid++
			}
		}
	}
	t.Logf("%d valid accepted unchanged; of %d invalid %d refused and %d mended", valid, invalid, invalid-mended, mended)
}
