package scheduler

import (
	"fmt"
	"slices"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// DraftModel is a smaller network that guesses what a larger one of the same vocabulary will say.
// It has a cache of its own and belongs to one engine.
//
// At temperature 0 it proposes its likeliest tokens. At other temperatures there are two ways, both
// lossless:
//
// By default it draws with the target's random number for the position, from its own distribution.
// The target draws as it would anyway, and the proposal is accepted if it is the same token. The
// text is the very same as without a draft, so it stays reproducible from its seed.
//
// With SpecConfig.Rejection it draws independently, and a token x is accepted with probability
// min(1, p(x)/q(x)), else replaced by one drawn from max(0, p−q) (Leviathan et al. 2023; Chen et
// al. 2023). The distribution is the same, the text is not: it depends on what was drafted. It
// accepts the most that independent draws can; it is worth trying where the temperature is high,
// many tokens are likely, and nobody needs to repeat a text. Requests with a Constraint use the
// first way, as do all other drafters.
type DraftModel struct {
	f       forwarder
	tree    *radix
	context int
	minProb float64
	scratch scratch
}

// DraftConfig sets the limits of a draft model.
type DraftConfig struct {
	Cache   transformer.CacheConfig // Pages 0: two contexts of the draft network
	Context int                     // 0: the trained one
	MinProb float64                 // drafting stops before a token that the draft model itself finds less likely; 0: 0.4
}

// NewDraftModel makes a draft model for a target. It fails if their vocabularies differ in size;
// that their tokens are the same is for the caller to check, who has the tokenizers.
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

// Close gives the memory of its cache back. An engine closes its draft model itself.
func (m *DraftModel) Close() { closeIfCloser(m.f) }

func vocabError(target, draft int) error {
	return fmt.Errorf("scheduler: make draft model: its vocabulary has %d tokens, the target's %d; a draft model must share the target's tokenizer", draft, target)
}

// modelDrafter is a draft model at work for one request.
type modelDrafter struct {
	m       *DraftModel
	s       *sampler
	greedy  bool
	reject  bool
	tokens  []int32 // what kv holds
	kv      transformer.Seq
	began   bool
	probs   [][]cand
	pending []transformer.Slice
}

// newDrafter starts a draft for a request with the given parameters.
func (m *DraftModel) newDrafter(p SampleParams, prompt []int32, reject bool) *modelDrafter {
	return &modelDrafter{m: m, s: newSampler(p, prompt, &m.scratch), greedy: p.Temperature == 0, reject: reject && p.Temperature > 0, pending: make([]transformer.Slice, 1)}
}

// Name returns "model".
func (d *modelDrafter) Name() string { return "model" }

// catchUp bounds the tokens that the draft model computes in one call before it has anything to
// propose.
const catchUp = 256

// Draft implements Drafter. While it has much to catch up with it proposes nothing, so that others
// are not kept waiting.
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

// sync goes back to what the cache has in common with tokens, of which at least the last is
// computed again.
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

// pass computes tokens; false means that there was no room, or an error, which costs nothing but
// the draft.
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

// choose draws the token at a position, or finds that the network is too unsure to go on. With
// rejection sampling that decision must not depend on the token drawn, else accepted tokens would
// be biased: so it looks at the likeliest one.
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

// taken returns the distributions that the first n tokens of the last draft were drawn from, if
// they matter.
func (d *modelDrafter) taken(n int) [][]cand {
	if !d.reject {
		return nil
	}
	return d.probs[:n]
}

// Close gives the pages back; full ones are remembered for the next request.
func (d *modelDrafter) Close() {
	at := &d.m.tree.root
	for i := 0; (i+1)*transformer.PageTokens <= min(d.kv.Len, len(d.tokens)); i++ { // a pass that panicked may have left more in kv
		at = d.m.tree.insert(at, d.tokens[i*transformer.PageTokens:(i+1)*transformer.PageTokens], d.kv.Pages[i])
	}
	for _, p := range d.kv.Pages {
		d.m.f.release(p)
	}
	d.kv = transformer.Seq{}
}
