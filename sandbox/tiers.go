package sandbox

import (
	"context"
	"errors"
	"fmt"
)

// tierStart is a tier with its start function. To add a tier, write a file tier_NAME.go with the
// start function, a name in tier.go, and a row of isolatingTiers in the tiers_OS.go of each system
// that supports it.
type tierStart struct {
	tier  Tier
	start func(ctx context.Context, cfg *Config, ws *workspace) (*local, error)
}

// startHighest starts the highest allowed tier that works.
func startHighest(ctx context.Context, cfg *Config, ws *workspace) (*local, error) {
	var tried []Attempt
	cause := ErrFloor
	for _, r := range append(isolatingTiers(), tierStart{TierNone, startHost}) {
		if r.tier > cfg.Ceiling || r.tier < cfg.Floor {
			continue
		}
		l, err := r.start(ctx, cfg, ws)
		if err == nil {
			if err = l.withNet(cfg); err != nil {
				err = errors.Join(err, l.run.Close())
			}
		}
		if err == nil {
			l.iso.Tried = tried
			return l, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		tried = append(tried, Attempt{Tier: r.tier, Cause: err.Error()})
		cause = errors.Join(cause, fmt.Errorf("%v: %w", r.tier, err))
	}
	if len(tried) == 0 {
		return nil, fmt.Errorf("%w: %v or higher is not implemented for this system; lower Config.Floor to accept less", cause, cfg.Floor)
	}
	return nil, fmt.Errorf("%w (floor is %v; lower Config.Floor to accept less)", cause, cfg.Floor)
}
