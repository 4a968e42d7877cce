package gitlog

import (
	"context"
	"errors"
	"time"
)

// maxTips limits the known commits passed to git: one for each line of development.
const maxTips = 64

// fill reads the newest ancestors of a head that the store lacks, and walks them.
func (o *opening) fill(head string) {
	o.status.Cached = len(o.store.commits)
	ref := o.headRef(head)
	// The first round reads the commits that are new since the last reading, the second reads older
	// ones. More rounds are needed only if commit times run backwards.
	for round := 0; round < 8; round++ {
		live, lacking, certain := o.store.walk(ref, o.opts.MaxCommits, o.opts.Merges == FirstParent)
		o.live = live
		if len(lacking) == 0 {
			break
		}
		q := reading{n: o.opts.MaxCommits - certain}
		for _, i := range lacking {
			q.want = append(q.want, o.store.missing[i].id)
		}
		if len(live) == 0 && round == 0 {
			q.known = o.store.tips(maxTips)
		}
		more := o.read(q)
		if !more && len(q.known) == 0 {
			// The lacking commits are not available; the walk continues without them.
			for _, i := range lacking {
				o.store.missing[i].bound = never
			}
		}
		if o.status.State != Ready {
			o.live, _, _ = o.store.walk(ref, o.opts.MaxCommits, o.opts.Merges == FirstParent)
			break
		}
	}
	o.finish(ref)
}

// headRef returns a reference to the head, which may be missing.
func (o *opening) headRef(head string) int32 {
	if i, ok := o.store.find(head); ok {
		return i
	}
	return o.store.lack(head, 1<<62)
}

// finish records how far back the log goes.
func (o *opening) finish(ref int32) {
	if len(o.live) == 0 && o.status.State == Ready {
		o.fail(NoHead, errNoRef)
	}
	o.status.Limited = len(o.live) == o.opts.MaxCommits
}

// read adds the commits from the source to the store, and reports whether there were any.
func (o *opening) read(q reading) bool {
	src, err := o.source()
	if err != nil {
		o.fail(Broken, err)
		return false
	}
	added, err := o.readFrom(src, q)
	if err != nil && !o.status.GoGit && o.ctx.Err() == nil && !errors.Is(err, errStopped) {
		// Git is too old for an option, cannot start, or stopped at damaged data.
		if other, goErr := o.goGit(); goErr == nil {
			if added > 0 {
				return true // the next round reads without git
			}
			if added, goErr = o.readFrom(other, q); goErr == nil || added > 0 {
				err = goErr
			}
		}
	}
	switch {
	case errors.Is(err, errStopped):
		o.fail(Unfinished, err)
	case err != nil:
		o.fail(Broken, err)
	}
	return added > 0
}

func (o *opening) readFrom(src source, q reading) (added int, err error) {
	limit := orDefault(o.opts.Timeout, defaultGitTime)
	if o.status.GoGit {
		limit = orDefault(o.opts.Timeout, defaultGoGitTime)
	}
	ctx, cancel := context.WithTimeoutCause(o.ctx, limit, errStopped)
	defer cancel()
	a := o.store.adder(o.opts.cachedTokenizer())
	q.has = a.Has
	n, last := 0, int64(0)
	told := time.Now()
	err = src.read(ctx, q, func(c *rawCommit) {
		a.Add(c)
		n, last = n+1, c.time
		if o.opts.Progress != nil && time.Since(told) > 100*time.Millisecond {
			told = time.Now()
			o.opts.Progress(a.Len())
		}
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	o.status.Read += n
	o.unread = o.unread || a.unread
	a.Finish(err != nil || n >= q.n, last)
	if o.opts.Progress != nil {
		o.opts.Progress(a.Len())
	}
	return a.Len(), err
}

// cachedTokenizer returns the tokenizer, or nil if words are not cached. Without a cache, only the
// commits that count are tokenised, on first use.
func (o *Options) cachedTokenizer() func(string) []string {
	if o.TokenizerKey == "" {
		return nil
	}
	return o.Tokenizer
}

// tokenizeRest tokenises commits that were cached without their words.
func (s *store) tokenizeRest(tokenize func(string) []string) {
	if s.words.key == "" {
		return
	}
	for i := len(s.words.of); i < len(s.commits); i++ {
		s.words.add(s.commits[i].subject, s.commits[i].body, tokenize)
	}
}
