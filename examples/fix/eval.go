package main

import (
	"context"
	"errors"
)

func evaluate(ctx context.Context, o options, show *display) (int, error) {
	return statusBadInput, errors.New("not yet")
}
