package codestore

import "errors"

// Damaged reports whether an error means that a segment differs from what was written. The next
// Sync builds it again.
func Damaged(err error) bool { return errors.Is(err, errDamaged) || errors.Is(err, ErrFault) }
