package compaction

import "github.com/luthier-dev/luthier/agent"

// rates are what the tokens of a prompt cost relative to plain input: read from the cache, and
// written to it.
type rates struct{ read, write float64 }

// ratesOf takes the ratios of a price table. A zero price is the usual one: a tenth for what the
// cache holds, a quarter more for what it has to learn.
func ratesOf(p agent.Price) rates {
	r := rates{read: 0.1, write: 1.25}
	if p.Input > 0 {
		r = rates{read: 1, write: 1}
		if p.CachedInput > 0 {
			r.read = float64(p.CachedInput) / float64(p.Input)
		}
		if p.CacheWrite > 0 {
			r.write = float64(p.CacheWrite) / float64(p.Input)
		}
	}
	return r
}

// payback is after how many further calls a change pays that takes R tokens out and leaves S tokens
// behind the first one taken.
//
// A cache holds a prompt's beginning. Where a part in the middle becomes shorter, the S tokens
// behind it have moved: the next call writes them anew, for write*S, where it would have read them
// for read*S. From then on every call reads R tokens less. So n more calls gain
//
//	n*read*R - (write-read)*S
//
// and the change pays after n = (write-read)/read * S/R calls, 11.5*S/R at the usual prices. It
// costs nothing where S is zero, which is why results are shortened as they are recorded, before
// any request has sent them; and where something has to go anyway, all that may go behind it goes
// with it, for R grows and S shrinks.
func (r rates) payback(removed, behind int) float64 {
	if removed <= 0 || r.read <= 0 {
		return 1e9
	}
	return (r.write - r.read) / r.read * float64(behind) / float64(removed)
}

// cut is a plan: shorten every cell from one on that the rule allows.
type cut struct {
	from    int     // index of the first cell
	removed int     // tokens, as far as they can be told before the stubs are written
	behind  int     // tokens that the cache has to learn anew
	gain    float64 // in tokens of plain input
}

// best finds the place to cut from. Allowed says how many tokens a cell would lose, 0 where it must
// stay, and for how many calls it could have been gone already. Every place is looked at once, from
// the end, so that R and S are sums that grow.
//
// How many calls are still to come nobody knows. Where a host does, payback's formula decides.
// Otherwise the rule is that of renting skis: go on paying for what is not needed until that has
// cost as much as the change, then change. However long the run turns out to be, this costs at most
// twice what hindsight would; and where a history grows evenly, it cuts at the very intervals that
// cost the least, sqrt(2*(write-read)/read * S/g) calls at g tokens a call. Patience above one
// waits longer: near the least the cost is flat, and what is cut less often keeps more of the cache
// and of the context.
func (h *history) best(r rates, calls int, patience float64, least int, allowed func(*cell) (tokens, since int)) (cut, bool) {
	var found cut
	ok := false
	removed, kept, msg := 0, 0, len(h.msgs)
	paid := 0.0 // or would be, over the known calls
	for i := len(h.cells) - 1; i >= 0; i-- {
		cl := &h.cells[i]
		for msg > cl.msg {
			msg--
			if msg < h.sent { // what was not sent yet is no loss
				kept += h.tokens[msg]
			}
		}
		n, since := allowed(cl)
		if n <= 0 {
			continue
		}
		if calls > 0 {
			since = calls
		}
		removed += n
		paid += r.read * float64(n) * float64(since)
		behind := max(kept-removed, 0)
		if removed < least {
			continue
		}
		if g := paid - patience*(r.write-r.read)*float64(behind); g > 0 && (!ok || g > found.gain) {
			found, ok = cut{from: i, removed: removed, behind: behind, gain: g}, true
		}
	}
	return found, ok
}

// reach finds the latest place to cut from that brings the total to target, the first possible one
// if none does.
func (h *history) reach(target int, allowed func(*cell) int) (cut, bool) {
	var found cut
	ok := false
	removed := 0
	for i := len(h.cells) - 1; i >= 0; i-- {
		n := allowed(&h.cells[i])
		if n <= 0 {
			continue
		}
		removed += n
		found, ok = cut{from: i, removed: removed}, true
		if h.total-removed <= target {
			break
		}
	}
	return found, ok
}
