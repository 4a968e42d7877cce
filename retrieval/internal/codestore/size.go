package codestore

// Size returns the size of the segment in bytes, including dead documents.
func (s *Segment) Size() int64 { return int64(len(s.file.data)) }
