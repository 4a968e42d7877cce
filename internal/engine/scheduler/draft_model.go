package scheduler

import (
	"fmt"
	"slices"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// DraftModel is a smaller network that predicts the output of a larger one with the same
// vocabulary. It has a separate cache and belongs to one engine.
//
// At temperature 0 it proposes its likeliest tokens. At other temperatures there are two ways, both
// lossless:
//
// By default, the draft model draws from its own distribution with the random number that the
// target uses for the position. The target draws as usual, and the proposal is accepted if it is
// the same token. The text is identical to the text without drafts, so it stays reproducible from
// its seed.
//
// With SpecConfig.Rejection, it draws independently. A token x is accepted with probability min(1,
// p(x)/q(x)), and otherwise replaced by one drawn from max(0, p−q) (Leviathan et al. 2023; Chen et
// al. 2023). The distribution is the same, but the text is not: it depends on what was drafted. Of
// all methods with independent draws, this one accepts the most tokens. It is worth trying if the
// temperature is high, many tokens are likely, and nobody needs to reproduce a text. Requests with
// a Constraint use the first way, as do all other drafters.
type DraftModel struct {
	f       forwarder
	tree    *radix
	context int
	minProb float64
	scratch scratch
}

// DraftConfig sets the limits of a draft model.
type DraftConfig struct {
	Cache   transformer.CacheConfig // Pages: 0 means enough for two contexts of the draft network
	Context int                     // 0 means the trained context
	MinProb float64                 // drafting stops before a token that the draft model considers less likely; 0 means 0.4
}

// NewDraftModel returns a draft model for a target. It returns an error if their vocabularies
// differ in size. The caller, who has the tokenizers, must check that the tokens are the same.
func NewDraftModel(target transformer.Hyper, n *transformer.Network, cfg DraftConfig) (*DraftModel, error) {
	h := n.Hyper()
	if h.Vocab != target.Vocab {
		return nil, vocabError(target.Vocab, h.Vocab)
	}
	if cfg.Context <= 0 || cfg.Context > h.Ctx {
		cfg.Context = h.Ctx
	}
	if cfg.Cache.Pages <= 0 {
		cfg.Cache.Pages = 2 * transformer.PagesFor(cfg.Context)
	}
	c, err := transformer.NewCache(n, cfg.Cache)
	if err != nil {
		return nil, fmt.Errorf("scheduler: make draft model: %w", err)
	}
	return newDraftModel(netForwarder{n, c}, cfg), nil
}

func newDraftModel(f forwarder, cfg DraftConfig) *DraftModel {
	if cfg.MinProb == 0 {
		cfg.MinProb = 0.4
	}
	return &DraftModel{f: f, tree: newRadix(f), context: cfg.Context, minProb: cfg.MinProb}
}

// Close frees the memory of the draft model's cache. An engine closes its draft model itself.
func (m *DraftModel) Close() { closeIfCloser(m.f) }

func vocabError(target, draft int) error {
	return fmt.Errorf("scheduler: make draft model: its vocabulary has %d tokens, the target's %d; a draft model must share the target's tokenizer", draft, target)
}

// modelDrafter drafts for one request with a draft model.
type modelDrafter struct {
	m       *DraftModel
	s       *sampler
	greedy  bool
	reject  bool
	tokens  []int32 // tokens whose keys and values are in kv
	kv      transformer.Seq
	began   bool
	probs   [][]cand
	pending []transformer.Slice
}

// newDrafter starts drafting for a request with the given parameters.
func (m *DraftModel) newDrafter(p SampleParams, prompt []int32, reject bool) *modelDrafter {
	return &modelDrafter{m: m, s: newSampler(p, prompt, &m.scratch), greedy: p.Temperature == 0, reject: reject && p.Temperature > 0, pending: make([]transformer.Slice, 1)}
}

// Name returns "model".
func (d *modelDrafter) Name() string { return "model" }

// catchUp limits the tokens that the draft model computes in one call before it proposes anything.
const catchUp = 256

// Draft implements Drafter. While many tokens have to be computed first, it proposes nothing, so
// that other requests need not wait.
func (d *modelDrafter) Draft(tokens []int32, max int, dst []int32) []int32 {
	d.probs = d.probs[:0]
	max = min(max, d.m.context-len(tokens))
	if max <= 0 {
		return dst
	}
	d.sync(tokens)
	feed := tokens[d.kv.Len:]
	if len(feed) > catchUp {
		if d.pass(feed[:catchUp], 0) {
			d.tokens = append(d.tokens, feed[:catchUp]...)
		}
		return dst
	}
	for i := range max {
		if !d.pass(feed, 1) {
			break
		}
		d.tokens = append(d.tokens, feed...)
		token, ok := d.choose(len(tokens) + i)
		if !ok {
			break
		}
		dst = append(dst, token)
		feed = dst[len(dst)-1:]
	}
	return dst
}

// sync truncates the cache to the prefix that it shares with tokens, except that at least the last
// token is computed again.
func (d *modelDrafter) sync(tokens []int32) {
	if !d.began {
		d.began = true
		m := d.m.tree.lookup(tokens[:len(tokens)-1], nil)
		d.kv.Pages, d.kv.Len = m.pages, m.tokens
		d.tokens = append(d.tokens[:0], tokens[:m.tokens]...)
		return
	}
	d.kv.Len = min(commonPrefix(d.tokens, tokens), len(tokens)-1)
	d.tokens = d.tokens[:d.kv.Len]
}

// pass computes tokens. It returns false if there was no room or an error occurred; in that case
// only the draft is lost.
func (d *modelDrafter) pass(tokens []int32, outputs int) bool {
	for len(d.kv.Pages)*transformer.PageTokens < d.kv.Len+len(tokens) {
		p, ok := d.m.f.alloc()
		for !ok && d.m.tree.evict() {
			p, ok = d.m.f.alloc()
		}
		if !ok {
			return false
		}
		d.kv.Pages = append(d.kv.Pages, p)
	}
	d.pending[0] = transformer.Slice{Seq: &d.kv, Tokens: tokens, Outputs: outputs}
	return d.m.f.forward(d.pending) == nil
}

// choose draws the token at a position, or finds that the network is too uncertain to continue.
// With rejection sampling, the decision to stop depends on the likeliest token: if it depended on
// the drawn token, accepted tokens would be biased.
func (d *modelDrafter) choose(pos int) (int32, bool) {
	logits := d.m.f.logits(0)
	if d.greedy {
		token, best, err := largest(logits)
		if err != nil {
			return 0, false
		}
		sum := 0.0
		for _, v := range logits {
			sum += expNeg(float64(v - best))
		}
		return token, sum*d.m.minProb <= 1
	}
	if d.s.distribution(logits) != nil {
		return 0, false
	}
	sum, most := 0.0, 0.0
	for _, c := range d.s.cands {
		sum += c.w
		most = max(most, c.w)
	}
	if most < d.m.minProb*sum {
		return 0, false
	}
	if !d.reject {
		return draw(d.s.cands, uniform(d.s.p.Seed, pos, streamSample)), true
	}
	d.probs = append(d.probs, slices.Clone(d.s.cands))
	return draw(d.s.cands, uniform(d.s.p.Seed, pos, streamDraft)), true
}

// taken returns the distributions from which the first n tokens of the last draft were drawn, if
// they are needed.
func (d *modelDrafter) taken(n int) [][]cand {
	if !d.reject {
		return nil
	}
	return d.probs[:n]
}

// Close releases the pages. Full pages are kept in the prompt cache for the next request.
func (d *modelDrafter) Close() {
	at := &d.m.tree.root
	for i := 0; (i+1)*transformer.PageTokens <= min(d.kv.Len, len(d.tokens)); i++ { // a pass that panicked may have left more tokens in kv
		at = d.m.tree.insert(at, d.tokens[i*transformer.PageTokens:(i+1)*transformer.PageTokens], d.kv.Pages[i])
	}
	for _, p := range d.kv.Pages {
		d.m.f.release(p)
	}
	d.kv = transformer.Seq{}
}
