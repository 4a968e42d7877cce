package sandbox

import "sync"

// denialLog keeps the denials of each command.
type denialLog struct {
	mu sync.Mutex
	by map[uint64]*denials
}

func (n *denialLog) note(command uint64, d Denial) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.by[command]
	if l == nil {
		if len(n.by) >= maxDenials { // of commands that ended without anybody asking for their denials
			return
		}
		if n.by == nil {
			n.by = map[uint64]*denials{}
		}
		l = &denials{}
		n.by[command] = l
	}
	l.add(d)
}

// take returns the denials of a command and forgets them.
func (n *denialLog) take(command uint64) []Denial {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.by[command]
	delete(n.by, command)
	if l == nil {
		return nil
	}
	return l.list
}
