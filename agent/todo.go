package agent

// Todo is one item of a session's todo list.
type Todo struct {
	Text   string     `json:"text"`
	Status TodoStatus `json:"status"`
}

// TodoStatus is the state of a [Todo].
type TodoStatus string

// The todo states.
const (
	TodoPending TodoStatus = "pending"
	TodoActive  TodoStatus = "in_progress"
	TodoDone    TodoStatus = "completed"
)
