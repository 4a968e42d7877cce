//go:build !unix

package trigram

import "time"

// ownTime returns 0: processor time is not available here.
func ownTime() time.Duration { return 0 }
