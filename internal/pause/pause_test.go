package pause_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/pause"
)

func TestFor(t *testing.T) {
	if err := pause.For(t.Context(), time.Millisecond); err != nil {
		t.Error(err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := pause.For(ctx, time.Hour); err != why {
		t.Errorf("an ended context gives %v", err)
	}
}
