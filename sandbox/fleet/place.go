package fleet

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Place chooses the host for a box. Among the hosts that serve the class it prefers those that have
// the snapshot ready, unless all of these are full; of the remaining hosts it takes the least
// loaded of three chosen at random. A choice among three is nearly as good as among all, and
// prevents clients with the same, slightly outdated list from all choosing the same host.
func Place(hosts []HostStatus, spec Spec, r *rand.Rand) (HostStatus, error) {
	var fit, ready []HostStatus
	for _, h := range hosts {
		if h.Draining || h.Places <= 0 || !slices.Contains(h.Classes, spec.Class) {
			continue
		}
		fit = append(fit, h)
		if h.Load() < 1 && spec.Snapshot != "" && slices.Contains(h.Snapshots, spec.Snapshot) {
			ready = append(ready, h)
		}
	}
	if len(fit) == 0 {
		return HostStatus{}, fmt.Errorf("%w: none of the %d hosts serves class %q", ErrNoHost, len(hosts), spec.Class)
	}
	if len(ready) > 0 {
		fit = ready
	}
	for i := range min(3, len(fit)) { // the first three of a shuffle
		j := i + r.IntN(len(fit)-i)
		fit[i], fit[j] = fit[j], fit[i]
	}
	return slices.MinFunc(fit[:min(3, len(fit))], func(a, b HostStatus) int {
		switch {
		case a.Load() < b.Load():
			return -1
		case a.Load() > b.Load():
			return 1
		}
		return 0
	}), nil
}
