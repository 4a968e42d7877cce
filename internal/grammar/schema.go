package grammar

import (
	"encoding/json"
	"errors"
)

func (b *builder) schema(schema json.RawMessage, opts SchemaOptions) (int32, error) {
	return 0, errors.New("schemas are not there yet")
}
