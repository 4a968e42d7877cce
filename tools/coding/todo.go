package coding

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

type todoIn struct {
	Todos *[]todoItem `json:"todos,omitempty" jsonschema_description:"the whole list; leave it out to see the list"`
}

type todoItem struct {
	Text   string `json:"text" jsonschema_description:"one step, in a few words"`
	Status string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=completed"`
}

const (
	maxTodos    = 100
	maxTodoText = 500
)

func (w *Workspace) todoTool() (agent.Tool, error) {
	return newTool("todo", w.todo, toolParts[todoIn]{
		any: agent.Writing(agent.ResourceTodos),
		effects: func(in todoIn) agent.Effects {
			if in.Todos == nil {
				return agent.ReadOnly(agent.ResourceTodos)
			}
			return agent.Writing(agent.ResourceTodos)
		},
		describe: titled(func(in todoIn) string {
			if in.Todos == nil {
				return "show the todo list"
			}
			return fmt.Sprintf("todo list of %s", plural(len(*in.Todos), "step"))
		}),
	})
}

func (w *Workspace) todo(ctx context.Context, in todoIn) (string, error) {
	session := agent.SessionFrom(ctx)
	if session == nil {
		return "", errors.New("there is no session to keep a list in; go on without")
	}
	if in.Todos == nil {
		return todoText(session.Todos()), nil
	}
	todos, err := checkTodos(*in.Todos)
	if err != nil {
		return "", fmt.Errorf("%w; the list was not changed", err)
	}
	if err := session.SetTodos(todos); err != nil {
		return "", err
	}
	return todoText(todos), nil
}

func checkTodos(items []todoItem) ([]agent.Todo, error) {
	if len(items) > maxTodos {
		return nil, fmt.Errorf("%d steps are more than the %d a list may have; join small ones", len(items), maxTodos)
	}
	todos := make([]agent.Todo, 0, len(items))
	active := 0
	for i, it := range items {
		t := agent.Todo{Text: strings.TrimSpace(it.Text), Status: agent.TodoStatus(it.Status)}
		switch {
		case t.Text == "":
			return nil, fmt.Errorf("step %d has no text", i+1)
		case len(t.Text) > maxTodoText:
			return nil, fmt.Errorf("step %d has more than %d bytes; say it in a few words", i+1, maxTodoText)
		case t.Status == agent.TodoActive:
			active++
		case t.Status != agent.TodoPending && t.Status != agent.TodoDone:
			return nil, fmt.Errorf("step %d has the status %q; use pending, in_progress or completed", i+1, it.Status)
		}
		todos = append(todos, t)
	}
	if active > 1 {
		return nil, fmt.Errorf("%d steps are in_progress; at most one may be: finish it or set it to pending first", active)
	}
	return todos, nil
}

func todoText(todos []agent.Todo) string {
	if len(todos) == 0 {
		return "The todo list is empty."
	}
	var b strings.Builder
	done := 0
	for i, t := range todos {
		mark := " "
		switch t.Status {
		case agent.TodoActive:
			mark = ">"
		case agent.TodoDone:
			mark = "x"
			done++
		}
		fmt.Fprintf(&b, "%d. [%s] %s\n", i+1, mark, t.Text)
	}
	fmt.Fprintf(&b, "(%d of %d done)", done, len(todos))
	return b.String()
}
