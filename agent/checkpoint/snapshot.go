package checkpoint

import (
	"context"
	"fmt"
)

// Snapshot records the workspace and returns the checkpoint's id. The label is any text for human
// readers.
func (s *Store) Snapshot(ctx context.Context, label string) (id string, err error) {
	err = s.locked(ctx, func() error {
		if err := s.readLog(); err != nil {
			return err
		}
		m, err := s.scan(ctx, nil)
		if err != nil {
			return err
		}
		e, err := s.keep(m, label)
		id = e.id.String()
		return err
	})
	if err != nil {
		return "", err
	}
	return id, nil
}

// keep adds a state to the history.
func (s *Store) keep(m *manifest, label string) (event, error) {
	tree, key, err := s.putManifest(m)
	if err != nil {
		return event{}, err
	}
	e, err := s.append(event{kind: kindSnapshot, tree: tree, key: key, label: label, files: len(m.files), notes: m.notes()})
	if err != nil {
		return event{}, err
	}
	s.remember(m)
	return e, nil
}

// List returns the checkpoints made by Snapshot and by restores, oldest first.
func (s *Store) List(ctx context.Context) ([]Checkpoint, error) {
	var list []Checkpoint
	err := s.locked(ctx, func() error {
		if err := s.readLog(); err != nil {
			return err
		}
		states, at := s.timeline()
		for _, e := range s.log {
			if e.kind == kindMove {
				continue
			}
			list = append(list, Checkpoint{ID: e.id.String(), Label: e.label, Time: e.time, Files: e.files, Notes: e.notes,
				Restore: e.kind == kindRestore, Current: at >= 0 && states[at].id == e.id})
		}
		return nil
	})
	return list, err
}

// short returns an abbreviated id for human readers.
func (e event) short() string { return e.id.String()[:10] }

func (e event) title() string {
	if e.label == "" {
		return e.short()
	}
	return fmt.Sprintf("%s (%s)", e.short(), e.label)
}
