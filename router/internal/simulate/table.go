// Package simulate replays tables of outcomes through routing policies. It reads what each model
// did on each task, lets a policy choose among them under a check that may err, and reports the
// quality and its cost, with intervals and a plot.
package simulate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
)

// Table holds the results of several models on the same tasks.
type Table struct {
	Models []string // names, in the order in which the first task lists them
	Tasks  []Task
}

// Task is one row of a [Table].
type Task struct {
	ID      string
	Group   string   // such as the repository; empty if unknown
	Results []Result // by model
}

// Result is the result of one model on one task.
type Result struct {
	Missing  bool // the model was not tried on it
	Resolved bool
	Dollars  float64
	Calls    int // requests to the model
}

const (
	maxLine   = 16 << 20 // bytes of one row
	maxModels = 64
)

// row is a line of a table's file.
type row struct {
	ID     string         `json:"id"`
	Repo   string         `json:"repo"`
	Models map[string]run `json:"models"`
	order  []string       // of the models, as written
}

type run struct {
	Resolved bool    `json:"resolved"`
	Cost     float64 `json:"cost"`
	Calls    int     `json:"api_calls"`
}

// Read reads JSON lines: {"id": …, "repo": …, "models": {NAME: {"resolved": true, "cost": DOLLARS,
// "api_calls": N}}}. Other fields are ignored. If a line cannot be read, the error names it.
func Read(r io.Reader) (*Table, error) {
	var rows []row
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxLine)
	for n := 1; in.Scan(); n++ {
		line := bytes.TrimSpace(in.Bytes())
		if len(line) == 0 {
			continue
		}
		var one row
		if err := one.parse(line); err != nil {
			return nil, fmt.Errorf("simulate: read table: line %d: %w", n, err)
		}
		rows = append(rows, one)
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("simulate: read table: %w", err)
	}
	return tableOf(rows)
}

func (o *row) parse(line []byte) error {
	if err := json.Unmarshal(line, o); err != nil {
		return err
	}
	if o.ID == "" || len(o.Models) == 0 {
		return errors.New(`a row needs "id" and at least one of "models"`)
	}
	if len(o.Models) > maxModels {
		return fmt.Errorf("%d models; at most %d are read", len(o.Models), maxModels)
	}
	for name, m := range o.Models {
		if name == "" || !(m.Cost >= 0) || math.IsInf(m.Cost, 0) || m.Calls < 0 {
			return fmt.Errorf("model %q: a name, and a cost and calls of 0 or more are needed", name)
		}
	}
	var raw struct {
		Models json.RawMessage `json:"models"`
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return err
	}
	o.order = keysOf(raw.Models, o.Models)
	return nil
}

// keysOf returns the keys of an object in the order in which they are written. If a name occurs
// twice or in another spelling, it returns the names sorted.
func keysOf(object json.RawMessage, known map[string]run) []string {
	var names []string
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return sorted(known)
	}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if _, have := known[name]; err != nil || !ok || !have {
			return sorted(known)
		}
		names = append(names, name)
		var skip json.RawMessage
		if d.Decode(&skip) != nil {
			return sorted(known)
		}
	}
	if len(names) != len(known) {
		return sorted(known)
	}
	return names
}

func sorted(known map[string]run) []string {
	names := make([]string, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// tableOf assigns every model one place in every row.
func tableOf(rows []row) (*Table, error) {
	if len(rows) == 0 {
		return nil, errors.New("simulate: read table: there is no row")
	}
	t := &Table{}
	place := map[string]int{}
	ids := map[string]bool{}
	for _, r := range rows {
		if ids[r.ID] {
			return nil, fmt.Errorf("simulate: read table: task %q comes twice", r.ID)
		}
		ids[r.ID] = true
		for _, name := range r.order {
			if _, ok := place[name]; !ok {
				place[name] = len(t.Models)
				t.Models = append(t.Models, name)
			}
		}
		if len(t.Models) > maxModels {
			return nil, fmt.Errorf("simulate: read table: more than %d models", maxModels)
		}
	}
	for _, r := range rows {
		task := Task{ID: r.ID, Group: r.Repo, Results: make([]Result, len(t.Models))}
		for i := range task.Results {
			task.Results[i].Missing = true
		}
		for name, m := range r.Models {
			task.Results[place[name]] = Result{Resolved: m.Resolved, Dollars: m.Cost, Calls: m.Calls}
		}
		t.Tasks = append(t.Tasks, task)
	}
	return t, nil
}

// Align returns the tasks of other with the results in the order of t's models. Every model of t
// must be in other.
func (t *Table) Align(other *Table) ([]Task, error) {
	place := make([]int, len(t.Models))
	for i, name := range t.Models {
		place[i] = -1
		for j, n := range other.Models {
			if n == name {
				place[i] = j
			}
		}
		if place[i] < 0 {
			return nil, fmt.Errorf("simulate: align tables: the other table has no model %q", name)
		}
	}
	tasks := make([]Task, len(other.Tasks))
	for k, task := range other.Tasks {
		tasks[k] = task
		tasks[k].Results = make([]Result, len(place))
		for i, j := range place {
			tasks[k].Results[i] = task.Results[j]
		}
	}
	return tasks, nil
}
