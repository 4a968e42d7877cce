package compaction

import "github.com/luthier-dev/luthier/agent"

// rates are the costs of a prompt's tokens relative to plain input: for reading from the cache and
// for writing to it.
type rates struct{ read, write float64 }

// ratesOf returns the ratios of a price table. A zero price means the usual one: a tenth of the
// input price for a cache read, a quarter more than the input price for a cache write.
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

// payback returns the number of further calls after which a change pays off. The change removes R
// tokens (the parameter removed), and S tokens (the parameter behind) remain after the first one
// removed.
//
// A cache holds the beginning of a prompt. If a part in the middle becomes shorter, the S tokens
// behind it have moved: the next call writes them to the cache again at a cost of write*S, instead
// of reading them at read*S. From then on every call reads R tokens less. So n more calls gain
//
//	n*read*R - (write-read)*S
//
// and the change pays after n = (write-read)/read * S/R calls, 11.5*S/R at the usual prices. It
// costs nothing if S is zero, which is why results are shortened as they are recorded, before any
// request has sent them. If something has to be removed anyway, everything behind it that may be
// removed is removed as well, since that increases R and decreases S.
func (r rates) payback(removed, behind int) float64 {
	if removed <= 0 || r.read <= 0 {
		return 1e9
	}
	return (r.write - r.read) / r.read * float64(behind) / float64(removed)
}

// cut is a plan: shorten every cell from one on that the rule allows.
type cut struct {
	from    int     // index of the first cell
	removed int     // tokens, as estimated before the stubs are written
	behind  int     // tokens that must be written to the cache again
	gain    float64 // in tokens of plain input
}

// best finds the place to cut from. The function allowed returns the number of tokens that a cell
// would lose (0 if it must stay), and the number of calls since the cell could first have been
// removed. The search runs from the end and visits every place once, so that R and S are running
// sums.
//
// If the host knows the number of calls still to come (the parameter calls), payback's formula
// decides. Otherwise the ski-rental rule decides: keep paying for unneeded tokens until they have
// cost as much as the change would, then make the change. Whatever the length of the run, this
// costs at most twice as much as the best decision in hindsight. If a history grows evenly by g
// tokens a call, the rule cuts at exactly the cheapest interval, sqrt(2*(write-read)/read * S/g)
// calls. A patience above one waits longer: near the minimum the cost is flat, and cutting less
// often keeps more of the cache and of the context.
func (h *history) best(r rates, calls int, patience float64, least int, allowed func(*cell) (tokens, since int)) (cut, bool) {
	var found cut
	ok := false
	removed, kept, msg := 0, 0, len(h.msgs)
	paid := 0.0 // the cost so far of keeping the cells, or the cost over the known calls
	for i := len(h.cells) - 1; i >= 0; i-- {
		cl := &h.cells[i]
		for msg > cl.msg {
			msg--
			if msg < h.sent { // nothing is lost for a message that was not sent yet
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

// reach finds the latest place to cut from that reduces the total to target. It returns the first
// possible place if none does.
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
