package router

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// bill holds what vendors charged for the requests of one conversation.
type bill struct {
	mu      sync.Mutex
	usage   agent.Usage
	dollars int64
	asked   map[string]bool
}

type billKey struct{}

func withBill(ctx context.Context) (context.Context, *bill) {
	b := &bill{asked: map[string]bool{}}
	return context.WithValue(ctx, billKey{}, b), b
}

// vendor is a provider that bills, and misbehaves at random. It counts four bytes as a token, like
// routers if no count is reported, so that their estimates must equal its bill.
type vendor struct {
	name  string
	home  []string // the routers that contain it, innermost first
	price agent.Price
	good  float64 // share of requests that go well
	seed  uint64
	n     atomic.Uint64
	hits  [faultKinds]atomic.Int64
}

// The ways in which a vendor answers.
const (
	faultNone   = iota
	faultBefore // an error that comes before anything else
	faultRetry  // 429 with Retry-After
	faultEarly  // usage, then an error
	faultMiddle // an error in the middle
	faultEnd    // an error in place of the finish
	faultCut    // no finish
	faultHang   // nothing until the context ends
	faultStall  // like faultHang, after a few words
	faultSlow   // a pause before the first word
	faultLate   // usage after the finish
	faultSilent // no usage at all
	faultTwice  // everything twice, even after the finish
	faultPanic
	faultKinds
)

func (v *vendor) Name() string { return v.name }

// fault decides how to answer the next request.
func (v *vendor) fault() (int, *rand.Rand) {
	dice := rand.New(rand.NewPCG(v.seed, v.n.Add(1)))
	kind := faultNone
	if dice.Float64() >= v.good {
		kind = 1 + dice.IntN(faultKinds-1)
	}
	v.hits[kind].Add(1)
	return kind, dice
}

func (v *vendor) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		kind, dice := v.fault()
		t := &tab{v: v, ctx: ctx, yield: yield}
		t.usage.Input = int64(demandOf(req).tokens)
		defer t.pay()
		v.answer(t, kind, dice)
	}
}

// words is every vendor's answer. Each word is four bytes, which is one token.
var words = strings.Split("Yes. I'll look into this case; more soon. ", " ")

func (v *vendor) answer(t *tab, kind int, dice *rand.Rand) {
	fail := func(kind agent.ErrorKind, after time.Duration) {
		t.over = true
		t.yield(nil, &agent.ModelError{Kind: kind, RetryAfter: after, Provider: v.name, Err: errors.New("injected")})
	}
	outages := []agent.ErrorKind{agent.ErrServer, agent.ErrOverloaded, agent.ErrNetwork, agent.ErrTimeout, agent.ErrAuth, agent.ErrUnknown, agent.ErrInvalid}
	outage := outages[dice.IntN(len(outages))]
	switch kind {
	case faultBefore:
		t.free = true
		fail(outage, 0)
		return
	case faultRetry:
		t.free = true
		fail(agent.ErrRateLimit, time.Duration(1+dice.IntN(3))*time.Millisecond)
		return
	case faultEarly:
		t.report()
		fail(outage, 0)
		return
	case faultHang:
		t.hang()
		return
	case faultPanic:
		t.free = true
		panic("injected")
	case faultSlow:
		select {
		case <-time.After(3 * time.Millisecond):
		case <-t.ctx.Done():
		}
	}
	if dice.IntN(2) == 0 && kind != faultSilent {
		t.report()
	}
	broken := 1 + dice.IntN(len(words)-1)
	for i, w := range words {
		switch {
		case i < broken:
		case kind == faultMiddle:
			fail(outage, 0)
			return
		case kind == faultCut:
			return
		case kind == faultStall:
			t.hang()
			return
		}
		if !t.say(w) || (kind == faultTwice && !t.yield(nil, nil)) {
			return
		}
	}
	if kind == faultEnd {
		fail(outage, 0)
		return
	}
	if kind != faultLate && kind != faultSilent && !t.report() {
		return
	}
	if !t.yield(agent.Finish{Reason: agent.FinishStop}, nil) {
		return
	}
	if kind == faultLate || kind == faultTwice {
		t.report()
	}
	if kind == faultTwice {
		t.yield(agent.TextDelta{Text: "too much"}, nil)
		t.yield(agent.Finish{Reason: agent.FinishLength}, nil)
	}
}

// tab tracks the cost of one request to a vendor.
type tab struct {
	v     *vendor
	ctx   context.Context
	yield func(agent.Chunk, error) bool
	usage agent.Usage
	free  bool // the request was refused
	over  bool
}

func (t *tab) report() bool { return t.yield(t.usage, nil) }

func (t *tab) say(word string) bool {
	if t.ctx.Err() != nil {
		t.over = true
		t.yield(nil, &agent.ModelError{Kind: agent.ErrCanceled, Err: context.Cause(t.ctx)})
		return false
	}
	t.usage.Output++
	return t.yield(agent.TextDelta{Text: (word + "    ")[:4]}, nil)
}

// hang blocks until the context ends.
func (t *tab) hang() {
	<-t.ctx.Done()
	t.over = true
	t.yield(nil, &agent.ModelError{Kind: agent.ErrCanceled, Err: context.Cause(t.ctx)})
}

// pay adds the request to the bill.
func (t *tab) pay() {
	b := t.ctx.Value(billKey{}).(*bill)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked[t.v.name] = true
	if !t.free {
		b.usage = b.usage.Add(t.usage)
		b.dollars += t.v.price.Cost(t.usage)
	}
}

// fullAnswer returns the text of a complete answer.
func fullAnswer() string {
	var out string
	for _, w := range words {
		out += (w + "    ")[:4]
	}
	return out
}

// house returns routers nested in routers over vendors, all of which misbehave.
func house(t testing.TB, good float64) (agent.Model, []*vendor) {
	var vendors []*vendor
	leaf := func() Member {
		v := &vendor{name: "v" + strconv.Itoa(len(vendors)), good: good, seed: uint64(len(vendors)) + 7, price: agent.Price{Input: 1e6, Output: 3e6}}
		vendors = append(vendors, v)
		return Member{Model: v, Price: &v.price}
	}
	model := func(m agent.Model, err error) Member {
		if err != nil {
			t.Fatal(err)
		}
		return Member{Model: m}
	}
	guarded := func() Member {
		m := leaf()
		limit, err := NewRateLimit(RateLimitConfig{Model: m.Model, Requests: 1e8, Tokens: 1e9, MaxWait: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		m.Name = agent.ModelName(m.Model)
		m.Model = model(NewBreaker(BreakerConfig{Model: limit, Open: time.Millisecond, MaxOpen: 4 * time.Millisecond})).Model
		return m
	}
	named := func(name string, m Member) Member { m.Name = name; return m }
	pair := func() []Member { return []Member{guarded(), leaf()} }
	hedge := named("hedge", model(NewHedge(HedgeConfig{Name: "hedge", Members: pair(), Delay: time.Millisecond, MaxExtra: 1})))
	single := named("single", model(NewHedge(HedgeConfig{Name: "single", Members: []Member{leaf()}, Delay: time.Millisecond, MaxExtra: 0.5})))
	robin := named("robin", model(NewRoundRobin(BalanceConfig{Name: "robin", Members: pair(), InFlight: 4})))
	least := named("least", model(NewLeastLoaded(BalanceConfig{Name: "least", Members: pair()})))
	hold := named("hold", model(NewFallback(FallbackConfig{Name: "hold", Members: []Member{leaf(), least}, Hold: true, Begin: 3 * time.Millisecond})))
	for i, home := range [][]string{{"hedge"}, {"hedge"}, {"single"}, {"robin"}, {"robin"}, {"least", "hold"}, {"least", "hold"}, {"hold"}} {
		vendors[i].home = home
	}
	top, err := NewFallback(FallbackConfig{Name: "top", Members: []Member{hedge, robin, single, hold}, Begin: 15 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return top, vendors
}

// TestFaults puts ten thousand faults through nested routers. Each request ends once, either with a
// complete answer, or with a typed error after every vendor was asked or had refused for a time. A
// request whose answer broke off may be repeated. The reports of the routers must equal the bills
// of the vendors, to the token.
//
// Evidence: routers · 10,000 faults lose no request and charge none twice
func TestFaults(t *testing.T) {
	agenttest.CheckLeaks(t)
	top, vendors := house(t, 0.25)
	want := 10_000
	if testing.Short() {
		want = 1000
	}
	var faults, answers, errs, again atomic.Int64
	count := func() (n int64) {
		for _, v := range vendors {
			for kind := 1; kind < faultKinds; kind++ {
				n += v.hits[kind].Load()
			}
		}
		return n
	}
	var wg sync.WaitGroup
	for w := range 96 { // most of the time is waiting for slow or silent models, so they run concurrently
		wg.Go(func() {
			for i := 0; faults.Load() < int64(want) && !t.Failed(); i++ {
				faultyRequest(t, top, vendors, fmt.Sprintf("s%d-%d", w, i), &answers, &errs, &again)
				faults.Store(count())
			}
		})
	}
	wg.Wait()
	t.Logf("%d faults: %d complete answers, %d errors, %d answers broke and were asked for again", faults.Load(), answers.Load(), errs.Load(), again.Load())
	if answers.Load() == 0 || errs.Load() == 0 || again.Load() == 0 {
		t.Error("the faults did not reach every way in which a request can end")
	}
}

// faultyRequest repeats a request until there is an answer or no reason to retry, as the loop does.
func faultyRequest(t *testing.T, top agent.Model, vendors []*vendor, session string, answers, errs, again *atomic.Int64) {
	for range 50 {
		var l ledger
		ctx, b := withBill(l.trace(context.Background()))
		ctx, cancel := context.WithTimeoutCause(ctx, 200*time.Millisecond, errPatience)
		text, finishes, fails, fail := drink(ctx, top, &agent.Request{SessionID: session, Messages: []agent.Message{agent.UserText("what of this case, in four words")}})
		cancel()
		checkBill(t, session, b, &l)
		switch {
		case finishes+fails != 1:
			t.Errorf("%s: %d finishes and %d errors; want one of both", session, finishes, fails)
			return
		case finishes == 1:
			answers.Add(1)
			if text != fullAnswer() {
				t.Errorf("%s: the answer is %q", session, text)
			}
			return
		case text == "":
			errs.Add(1)
			checkRefused(t, session, fail, b, &l, vendors)
			return
		}
		again.Add(1)
		if !fail.Kind.Retryable() && fail.Kind != agent.ErrCanceled {
			t.Errorf("%s: an answer broke with %v, which no loop would ask for again", session, fail)
			return
		}
	}
	t.Errorf("%s: no answer in 50 requests", session)
}

var errPatience = errors.New("the test's patience is over")

// drink reads a stream to its end.
func drink(ctx context.Context, m agent.Model, req *agent.Request) (text string, finishes, fails int, fail *agent.ModelError) {
	for c, err := range m.Stream(ctx, req) {
		switch c := c.(type) {
		case agent.TextDelta:
			text += c.Text
		case agent.Finish:
			finishes++
		}
		if err != nil {
			fails++
			fail, _ = errors.AsType[*agent.ModelError](err)
		}
	}
	return text, finishes, fails, fail
}

// checkBill compares the reports of the routers with the bills of the vendors.
func checkBill(t *testing.T, session string, b *bill, l *ledger) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.began) != len(l.routed) {
		t.Errorf("%s: %d attempts began and %d ended", session, len(l.began), len(l.routed))
	}
	var usage agent.Usage
	var dollars int64
	for _, r := range l.routed {
		usage = usage.Add(r.Usage)
		dollars += r.MicroDollars
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if usage != b.usage || dollars != b.dollars {
		t.Errorf("%s: reported %+v for %d, billed %+v for %d", session, usage, dollars, b.usage, b.dollars)
		for _, r := range l.routed {
			t.Logf("%+v", r)
		}
	}
}

// checkRefused checks that an error without an answer came only if each vendor had been asked, had
// said when to retry, or shares a router with a vendor whose answer broke off: after such an
// answer, a router asks no other vendor for the same request.
func checkRefused(t *testing.T, session string, fail *agent.ModelError, b *bill, l *ledger, vendors []*vendor) {
	t.Helper()
	if fail == nil {
		t.Errorf("%s: the error has no type", session)
		return
	}
	if fail.Kind == agent.ErrCanceled && errors.Is(fail, errPatience) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	words := fail.Error()
	for _, v := range vendors {
		excused := b.asked[v.name] || strings.Contains(words, v.name+": ")
		for _, router := range v.home { // the whole router had failed, or had said when to retry
			for _, why := range []string{errSlow.Error(), "it asked not to be called", "not asked for another"} {
				at := strings.Index(words, router+": model: ")
				excused = excused || (at >= 0 && strings.Contains(strings.SplitN(words[at:], "\n", 2)[0], why))
			}
		}
		for _, r := range l.routed {
			excused = excused || (r.Router == v.home[0] && r.Err != nil && r.Usage.Output > 0)
		}
		if !excused {
			t.Errorf("%s: %s was not asked, and yet the error is %v", session, v.name, fail)
		}
	}
}

// TestFaultsInRuns puts faults through whole runs: the result, the session, its log and the events
// must all report the same cost.
//
// Evidence: routers · 10,000 faults lose no request and charge none twice
func TestFaultsInRuns(t *testing.T) {
	agenttest.CheckLeaks(t)
	runs := 400
	if testing.Short() {
		runs = 50
	}
	top, _ := house(t, 0.4)
	dir := t.TempDir()
	var wg sync.WaitGroup
	for w := range 25 {
		wg.Go(func() {
			for i := 0; i < runs/25 && !t.Failed(); i++ {
				faultyRun(t, top, dir, fmt.Sprintf("s%d-%d", w, i))
			}
		})
	}
	wg.Wait()
}

func faultyRun(t *testing.T, top agent.Model, dir, id string) {
	s, err := agent.CreateSession(dir, agent.SessionOptions{ID: id, NoSync: true})
	if err != nil {
		t.Error(err)
		return
	}
	left := 2 // answers that the check rejects
	a, err := agent.New(agent.Config{Model: top, Limits: agent.Limits{MicroDollars: 1e9, Tokens: 1e9}, Retry: agent.Retry{Max: 200, Base: time.Microsecond, Cap: time.Millisecond, IdleTimeout: 40 * time.Millisecond},
		Verify: func(context.Context, *agent.Session) (string, error) {
			if left--; left >= 0 {
				return "once more", nil
			}
			return "", nil
		}})
	if err != nil {
		t.Error(err)
		return
	}
	ctx, b := withBill(context.Background())
	var l ledger
	var res *agent.Result
	for ev, err := range a.Run(ctx, s, agent.Text{Text: "what of this case"}) {
		switch ev := ev.(type) {
		case agent.Routing:
			l.began = append(l.began, ev)
		case agent.Routed:
			l.routed = append(l.routed, ev)
		case agent.Done:
			res = ev.Result
		}
		if me := agent.AsModelError(err); me != nil && me.Kind.Retryable() {
			t.Errorf("%s: %v", id, err)
		}
	}
	checkBill(t, id, b, &l)
	want := spentBy{b.usage, b.dollars}
	if diff := cmp.Diff(want, spentBy{res.Usage, res.MicroDollars}); diff != "" {
		t.Errorf("%s: the result (-billed +got):\n%s", id, diff)
	}
	u, cost := s.Usage()
	if diff := cmp.Diff(want, spentBy{u, cost}); diff != "" {
		t.Errorf("%s: the session (-billed +got):\n%s", id, diff)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	checkLog(t, filepath.Join(dir, id+".jsonl"), want, len(l.routed))
}

type spentBy struct {
	Usage   agent.Usage
	Dollars int64
}

// checkLog sums up a session's log in two ways: by entries and by the attempts that they report.
func checkLog(t *testing.T, path string, want spentBy, attempts int) {
	f, err := os.Open(path)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	var entries, routes spentBy
	seen := map[int64]bool{}
	for e, err := range agent.ReadEntries(f) {
		if err != nil {
			t.Error(err)
			return
		}
		if e.Usage != nil {
			entries.Usage = entries.Usage.Add(*e.Usage)
		}
		entries.Dollars += e.MicroDollars
		for _, r := range e.Routes {
			routes.Usage = routes.Usage.Add(r.Usage)
			routes.Dollars += r.MicroDollars
			if seen[r.ID] {
				t.Errorf("%s: attempt %d is told twice", path, r.ID)
			}
			seen[r.ID] = true
		}
	}
	if diff := cmp.Diff([]spentBy{want, want}, []spentBy{entries, routes}); diff != "" {
		t.Errorf("%s (-billed, billed +entries, attempts):\n%s", path, diff)
	}
	if len(seen) != attempts {
		t.Errorf("%s: the log tells %d attempts and the events %d", path, len(seen), attempts)
	}
}
