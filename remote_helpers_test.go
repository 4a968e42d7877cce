package luthier_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/sandbox/remote"
	"github.com/luthier-dev/luthier/tools/coding"
)

const farToken = "a token of at least sixteen bytes"

// farServer starts an environment server with the coding tools, and returns what opens a copy of a
// directory there.
func farServer(t testing.TB, o luthier.ToolboxOptions) func(dir string) luthier.Source {
	t.Helper()
	url := farWeb(t, o).URL
	return func(dir string) luthier.Source {
		return luthier.Remote(remote.Options{URL: url, Token: farToken, Dir: dir})
	}
}

// farWeb starts an environment server.
func farWeb(t testing.TB, o luthier.ToolboxOptions) *httptest.Server {
	t.Helper()
	cfg := remote.Config{Dir: t.TempDir(), Tenants: []remote.Tenant{{Name: "test", Token: farToken}}, Tools: luthier.ServeTools(o)}
	srv, err := remote.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(srv)
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return web
}

// waitForIndex makes the tools wait until the index is complete, since what a search answers must
// not depend on time.
func waitForIndex(cfg *coding.Config) {
	if cfg.Index != nil {
		cfg.Index = completeIndex{cfg.Index}
	}
}

type completeIndex struct{ coding.Index }

func (x completeIndex) Search(ctx context.Context, q coding.IndexQuery) ([]coding.Hit, error) {
	for x.Features().State() != "" {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return x.Index.Search(ctx, q)
}
