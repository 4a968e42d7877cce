package sim

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Distribution holds evenly spaced quantiles of measured durations, in ascending order. The first
// is the minimum, and the last is the maximum.
type Distribution []time.Duration

// Draw returns a random duration of the distribution, interpolated linearly between two
// neighbouring quantiles.
func (d Distribution) Draw(r *rand.Rand) time.Duration {
	if len(d) < 2 {
		if len(d) == 1 {
			return d[0]
		}
		return 0
	}
	at := r.Float64() * float64(len(d)-1)
	i := int(at)
	return d[i] + time.Duration((at-float64(i))*float64(d[i+1]-d[i]))
}

func (d Distribution) validate(what string) error {
	if len(d) == 0 {
		return fmt.Errorf("%s is empty", what)
	}
	for i, v := range d {
		if v < 0 || i > 0 && v < d[i-1] {
			return fmt.Errorf("%s is negative or not in rising order at %d", what, i)
		}
	}
	return nil
}

// Measured holds the durations of the parts of a lease on one host.
type Measured struct {
	Create  Distribution // making a new sandbox
	Lease   Distribution // leasing a ready one, from the request to its use
	Recycle Distribution // preparing a used one for the same tenant
	Fetch   Distribution // fetching a snapshot that the host does not have
	Hold    Distribution // use by the client, until it returns the sandbox
}

func (m *Measured) validate() error {
	return errors.Join(m.Create.validate("Create"), m.Lease.validate("Lease"), m.Recycle.validate("Recycle"),
		m.Fetch.validate("Fetch"), m.Hold.validate("Hold"))
}

//go:embed measured.json
var measuredJSON []byte

// Default returns durations measured with real sandboxes; measured.json states where and how.
func Default() (Measured, error) {
	var file struct {
		Note     string
		Measured Measured
	}
	if err := json.Unmarshal(measuredJSON, &file); err != nil {
		return Measured{}, fmt.Errorf("sim: read measured.json: %w", err)
	}
	return file.Measured, nil
}
