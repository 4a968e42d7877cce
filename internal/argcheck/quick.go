package argcheck

import "github.com/santhosh-tekuri/jsonschema/v6"

type matcher struct{}

func newMatcher(*jsonschema.Schema) *matcher { return nil }

func (*matcher) accepts([]byte) bool { return false }
