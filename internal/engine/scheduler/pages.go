package scheduler

import (
	"fmt"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// page finds a free page, if necessary by evicting a prefix that is not in use.
func (e *Engine) page() (int32, bool) {
	if p, ok := e.f.alloc(); ok {
		return p, true
	}
	if !e.tree.evict() {
		return 0, false
	}
	e.metrics.evictions.Add(1)
	return e.f.alloc()
}

// reuse assigns the longest cached prefix to a sequence without pages. The last token is always
// left to be computed, because its logits are needed.
func (e *Engine) reuse(s *sequence) {
	s.kv.Len, s.insert, s.cursor = 0, 0, &e.tree.root
	if s.task == taskScore { // it needs the logits of all tokens
		return
	}
	m := e.tree.lookup(s.tokens[:len(s.tokens)-1], s.kv.Pages[:0])
	s.kv.Pages, s.kv.Len, s.insert, s.cursor = m.pages, m.tokens, len(m.pages), m.node
	if m.tailN == 0 {
		return
	}
	e.f.retain(m.tail) // so that making room does not evict it
	if p, ok := e.page(); ok {
		e.f.copyPage(p, m.tail)
		s.kv.Pages = append(s.kv.Pages, p)
		s.kv.Len += m.tailN
	}
	e.f.release(m.tail)
}

// adopt takes over pages that another sequence with the same text has computed in the meantime.
func (e *Engine) adopt(s *sequence) {
	if s.task == taskScore {
		return
	}
	for {
		at := s.insert * transformer.PageTokens
		next, common := s.cursor.best(s.tokens[at : len(s.tokens)-1])
		if common < transformer.PageTokens {
			return
		}
		e.f.retain(next.page)
		if s.insert < len(s.kv.Pages) {
			e.f.release(s.kv.Pages[s.insert])
			s.kv.Pages[s.insert] = next.page
		} else {
			s.kv.Pages = append(s.kv.Pages, next.page)
		}
		s.cursor = next
		s.insert++
		if end := s.insert * transformer.PageTokens; end > s.kv.Len {
			s.stats.Cached = min(s.stats.Cached+end-s.kv.Len, len(s.req.Prompt))
			s.kv.Len = end
		}
	}
}

// share puts the full pages of a sequence into the tree. If another sequence already put the same
// page there, that page is used and the page of this sequence is freed.
func (e *Engine) share(s *sequence) {
	if s.task == taskScore {
		return
	}
	for (s.insert+1)*transformer.PageTokens <= s.kv.Len {
		at := s.insert * transformer.PageTokens
		own := s.kv.Pages[s.insert]
		n := e.tree.insert(s.cursor, s.tokens[at:at+transformer.PageTokens], own)
		if n.page != own {
			e.f.retain(n.page)
			e.f.release(own)
			s.kv.Pages[s.insert] = n.page
		}
		s.cursor = n
		s.insert++
	}
}

// remember puts all pages of a sequence into the tree, including the partly filled last page.
func (e *Engine) remember(s *sequence) {
	if s.task == taskScore || s.cursor == nil {
		return
	}
	e.share(s)
	if at := s.insert * transformer.PageTokens; at < s.kv.Len {
		e.tree.insert(s.cursor, s.tokens[at:s.kv.Len], s.kv.Pages[s.insert])
	}
}

// drop releases a sequence's pages.
func (e *Engine) drop(s *sequence) {
	for _, p := range s.kv.Pages {
		e.f.release(p)
	}
	s.kv.Pages, s.kv.Len, s.insert, s.cursor = s.kv.Pages[:0], 0, 0, nil
}

// grow allocates pages for n more tokens of s. If no page is left, s first gives up its own draft;
// then the youngest sequence, possibly s itself, is preempted.
func (e *Engine) grow(s *sequence) {
	for len(s.kv.Pages)*transformer.PageTokens < s.kv.Len+s.fed {
		if p, ok := e.page(); ok {
			s.kv.Pages = append(s.kv.Pages, p)
			continue
		}
		if len(s.draft) > 0 {
			s.fed -= len(s.draft)
			s.draft, s.probs = s.draft[:0], nil
			continue
		}
		youngest := s
		for _, r := range e.running {
			if r.id > youngest.id {
				youngest = r
			}
		}
		if youngest == s && len(e.running) == 1 {
			e.fail(s, fmt.Errorf("scheduler: generate: the cache of %d pages has no room for %d tokens: %w", e.f.pages(), s.kv.Len+s.fed,
				&ContextError{Context: e.f.pages() * transformer.PageTokens, Prompt: len(s.req.Prompt), Generated: s.generated()}))
			return
		}
		e.preempt(youngest)
		if youngest == s {
			return
		}
	}
}

// preempt takes a sequence's pages and puts it back at the front of the queue. Later the sequence
// recomputes the tokens that are no longer in the cache, and its text continues at the same place.
func (e *Engine) preempt(s *sequence) {
	e.remember(s)
	e.drop(s)
	s.fed, s.draft, s.scores, s.generating = 0, s.draft[:0], nil, false
	s.stats.Preempted++
	e.metrics.preempted.Add(1)
	for i, r := range e.running {
		if r == s {
			e.running = append(e.running[:i], e.running[i+1:]...)
			break
		}
	}
	e.mu.Lock()
	e.queue = append([]*sequence{s}, e.queue...)
	e.mu.Unlock()
}
