package wait_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/wait"
)

func TestFor(t *testing.T) {
	if err := wait.For(t.Context(), time.Millisecond); err != nil {
		t.Error(err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := wait.For(ctx, time.Hour); err != why {
		t.Errorf("an ended context gives %v", err)
	}
}
