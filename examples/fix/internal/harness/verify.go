package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// Test implements [Case]. It first runs the tests that failed and, if they now pass, all tests of
// the module. The edit is right if the tests that failed in the edit's package pass, and no test
// fails that passed before.
func (m *Module) Test(ctx context.Context, e *Edit) (*Verdict, error) {
	overlay, err := m.overlay(e)
	if err != nil {
		return nil, err
	}
	m.Runs++
	runs, err := m.runTests(ctx, "-overlay="+overlay, "-run="+repair.SelectTests(m.finding.Failed), m.Package)
	if err != nil {
		return nil, err
	}
	r := runs[m.Package]
	switch {
	case r == nil:
		return nil, fmt.Errorf("the tests of %s did not run", m.Package)
	case r.build != "":
		return nil, fmt.Errorf("%w: %s", ErrCompile, firstLines(r.build, 1))
	case !r.ok():
		return &Verdict{Failed: r.failed}, nil
	}
	for _, t := range m.finding.Failed {
		if !slices.Contains(r.passed, t) {
			return &Verdict{Failed: []string{t}}, nil // with the edit, the test is skipped
		}
	}
	if runs, err = m.runTests(ctx, "-overlay="+overlay, m.below); err != nil {
		return nil, err
	}
	v := &Verdict{OK: true}
	m.Others = nil
	for _, path := range sortedKeys(runs) {
		r := runs[path]
		if r.ok() {
			continue
		}
		m.Others = append(m.Others, path)
		if before := m.broken[path]; path == m.Package || before == nil || before.build == "" && r.build != "" || anyNew(r.failed, before.failed) {
			v.OK = false
			v.Failed = append(v.Failed, r.failed...)
		}
	}
	return v, nil
}

func anyNew(now, before []string) bool {
	return slices.ContainsFunc(now, func(t string) bool { return !slices.Contains(before, t) })
}

// writeNew writes a file in the directory that tests can write, too. Whatever they left under its
// name, such as a FIFO or a link, is removed, and neither waited for nor followed.
func writeNew(name string, data []byte) error {
	if err := os.RemoveAll(name); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// overlay writes an edited file outside the module, together with the overlay file that makes the
// go command use it.
func (m *Module) overlay(e *Edit) (string, error) {
	edited := filepath.Join(m.scratch, "edit"+strconv.Itoa(m.Runs)+".go")
	if err := writeNew(edited, e.After); err != nil {
		return "", err
	}
	place := filepath.Join(m.sb.Dir(), filepath.FromSlash(e.Function.File))
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{place: edited}})
	if err != nil {
		return "", err
	}
	name := filepath.Join(m.scratch, "overlay"+strconv.Itoa(m.Runs)+".json")
	return name, writeNew(name, data)
}
