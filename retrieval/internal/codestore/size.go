package codestore

// Size returns how many bytes the segment has, dead documents included.
func (s *Segment) Size() int64 { return int64(len(s.file.data)) }
