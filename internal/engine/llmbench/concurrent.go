package main

import (
	"sync"
	"time"

	"github.com/luthier-dev/luthier/internal/engine/scheduler"
)

// concurrentPrompt is the number of prompt tokens of each sequence.
const concurrentPrompt = 64

// concurrent compares the throughput of several sequences with that of one, without speculation.
func concurrent(o options, file string, threads int) error {
	m, err := open(file, threads, o)
	if err != nil {
		return err
	}
	defer m.close()
	var one, many, peerOne, peerMany []float64
	for range o.reps {
		for _, x := range []struct {
			seqs        int
			ours, peers *[]float64
		}{{1, &one, &peerOne}, {o.seqs, &many, &peerMany}} {
			speed, err := m.throughput(x.seqs)
			if err != nil {
				return err
			}
			*x.ours = append(*x.ours, speed)
			if o.batched == "" {
				continue
			}
			if speed, err = peerBatch(o, file, threads, x.seqs, concurrentPrompt, o.generate); err != nil {
				return err
			}
			*x.peers = append(*x.peers, speed)
		}
	}
	if o.batched == "" {
		row(base(file), threads, o.seqs, median(many), median(one), median(many)/median(one), "", "", "")
		return nil
	}
	row(base(file), threads, o.seqs, median(many), median(one), median(many)/median(one),
		median(peerMany), median(peerOne), median(peerMany)/median(peerOne))
	return nil
}

// throughput returns the tokens per second of n sequences while all of them generate.
func (m *model) throughput(n int) (float64, error) {
	size := concurrentPrompt + m.o.generate
	_, code, err := m.code(1, n*size)
	if err != nil {
		return 0, err
	}
	e, err := m.engine(size+8, scheduler.EngineConfig{Slots: n, Speculation: scheduler.SpecConfig{Off: true}})
	if err != nil {
		return 0, err
	}
	defer e.Close()
	times, errs := make([][]time.Time, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		text := code[i*size : (i+1)*size]
		wg.Go(func() {
			times[i], errs[i] = m.stamps(e, text[:concurrentPrompt:concurrentPrompt], text[concurrentPrompt:])
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	begin, end := times[0][0], times[0][len(times[0])-1]
	for _, t := range times {
		if t[0].After(begin) {
			begin = t[0]
		}
		if last := t[len(t)-1]; last.Before(end) {
			end = last
		}
	}
	count := 0
	for _, t := range times {
		for _, at := range t {
			if at.After(begin) && !at.After(end) {
				count++
			}
		}
	}
	return float64(count) / end.Sub(begin).Seconds(), nil
}

// stamps generates text and returns the time at which each token arrived.
func (m *model) stamps(e *scheduler.Engine, prompt, text []int32) ([]time.Time, error) {
	var at []time.Time
	_, err := say(e, scheduler.Request{Prompt: prompt}, text, func() { at = append(at, m.o.now()) })
	return at, err
}
