package codestore

import "errors"

// Damaged reports whether an error says that a segment is no longer what was written. The next Sync
// builds it anew.
func Damaged(err error) bool { return errors.Is(err, errDamaged) || errors.Is(err, ErrFault) }
