package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/luthier-dev/luthier/internal/atomicfile"
)

const (
	stateVersion  = 1
	maxStateBytes = 32 << 20
	maxSavedArms  = 1024
	maxCount      = 1e12
)

// savedState is the file format in which bandits keep their observations. All numbers are sums.
type savedState struct {
	Version int                 `json:"version"`
	Arms    map[string]savedArm `json:"arms"`
}

type savedArm struct {
	Expected float64               `json:"expected"` // dollars
	Spent    float64               `json:"spent"`    // dollars
	All      [2]float64            `json:"all"`      // good, bad
	Cases    map[string][2]float64 `json:"cases"`    // by Case.String
}

// Merge combines the observations of this bandit and others in a file: it adds the observations
// since the last Merge to the file, and reads the observations of others from it. The file is
// replaced as a whole under a lock file next to it, so that processes may share it and a crash
// leaves the old version or the new one. A missing file counts as empty. After an error nothing is
// lost: the next Merge adds the observations. Arms in the file that the bandit does not have are
// kept.
func (b *Bandit) Merge(ctx context.Context, path string) (err error) {
	lock := flock.New(path + ".lock")
	if ok, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil || !ok {
		return fmt.Errorf("router: merge bandit %s: wait for the lock of another process: %w", path, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	file, err := readState(path)
	if err != nil {
		return fmt.Errorf("router: merge bandit %s: %w", path, err)
	}
	b.mu.Lock()
	news := b.pending
	b.pending = newStates(len(b.arms))
	b.mu.Unlock()
	merged := newStates(len(b.arms))
	for i, a := range b.arms {
		merged[i] = loadArm(file.Arms[a.Name])
		merged[i].plus(&news[i])
		merged[i].fade()
		file.Arms[a.Name] = merged[i].save()
	}
	err = writeState(path, file)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		for i := range news {
			b.pending[i].plus(&news[i])
		}
		return fmt.Errorf("router: merge bandit %s: %w", path, err)
	}
	for i := range merged {
		merged[i].plus(&b.pending[i]) // observations that were made while the file was written
	}
	b.state = merged
	return nil
}

// plus adds the observations of t.
func (s *armState) plus(t *armState) {
	s.expected += t.expected
	s.spent += t.spent
	s.all = s.all.plus(t.all)
	for c, n := range t.byCase {
		s.addCase(c, n)
	}
}

// addCase adds outcomes of one case, if there is room for it.
func (s *armState) addCase(c Case, t tally) {
	if _, ok := s.byCase[c]; !ok && len(s.byCase) >= maxCases {
		return
	}
	work := Case{Purpose: c.Purpose, Failures: c.Failures}
	s.byWork[work] = s.byWork[work].plus(t)
	s.byCase[c] = s.byCase[c].plus(t)
}

func loadArm(a savedArm) armState {
	s := newStates(1)[0]
	s.expected, s.spent, s.all = a.Expected, a.Spent, tally{a.All[0], a.All[1]}
	for name, n := range a.Cases {
		if c, err := parseCase(name); err == nil {
			s.addCase(c, tally{n[0], n[1]})
		}
	}
	return s
}

func (s *armState) save() savedArm {
	a := savedArm{Expected: s.expected, Spent: s.spent, All: [2]float64{s.all.Good, s.all.Bad}, Cases: map[string][2]float64{}}
	for c, n := range s.byCase {
		a.Cases[c.String()] = [2]float64{n.Good, n.Bad}
	}
	return a
}

// parseCase reads what Case.String wrote.
func parseCase(s string) (Case, error) {
	rest, failures, ok := cutLast(s)
	purpose, size, also := cutLast(rest)
	f, err1 := strconv.ParseUint(failures, 10, 8)
	n, err2 := strconv.ParseUint(size, 10, 8)
	if !ok || !also || err1 != nil || err2 != nil || len(purpose) > maxPurpose {
		return Case{}, fmt.Errorf("%q is no case; it is written PURPOSE/SIZE/FAILURES", s)
	}
	return Case{Purpose: purpose, Size: uint8(n), Failures: uint8(f)}.normal(), nil
}

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// readState reads the file; a missing one is empty.
func readState(path string) (*savedState, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return &savedState{Arms: map[string]savedArm{}}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxStateBytes+1))
	if err != nil {
		return nil, err
	}
	return parseState(data)
}

func parseState(data []byte) (*savedState, error) {
	if len(data) > maxStateBytes {
		return nil, fmt.Errorf("the state has more than %d bytes; move it away to start anew", maxStateBytes)
	}
	var s savedState
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("the state cannot be read; move it away to start anew: %w", err)
	}
	if s.Version != stateVersion {
		return nil, fmt.Errorf("the state has version %d, this program writes %d; use the program that wrote it, or another file", s.Version, stateVersion)
	}
	if len(s.Arms) > maxSavedArms {
		return nil, fmt.Errorf("the state has %d arms, more than %d; move it away to start anew", len(s.Arms), maxSavedArms)
	}
	for name, a := range s.Arms {
		if err := a.check(); err != nil {
			return nil, fmt.Errorf("the state of %q: %w; move the file away to start anew", name, err)
		}
	}
	if s.Arms == nil {
		s.Arms = map[string]savedArm{}
	}
	return &s, nil
}

func (a *savedArm) check() error {
	for _, n := range [...]float64{a.Expected, a.Spent, a.All[0], a.All[1]} {
		if !(n >= 0 && n <= maxCount) {
			return fmt.Errorf("%v is no count", n)
		}
	}
	for name, n := range a.Cases {
		if _, err := parseCase(name); err != nil {
			return err
		}
		if !(n[0] >= 0 && n[0] <= maxCount && n[1] >= 0 && n[1] <= maxCount) {
			return fmt.Errorf("%q: %v are no counts", name, n)
		}
	}
	return nil
}

// writeState replaces the file. The caller holds the lock, so nobody else uses the temporary name;
// a file of that name left by a crash is overwritten.
func writeState(path string, s *savedState) error {
	s.Version = stateVersion
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err == nil {
		err = f.Sync() // the bytes must be on disk before the rename
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	_ = atomicfile.SyncDir(filepath.Dir(path)) // not every system supports it; without it, the durability of the rename depends on the system
	return nil
}
