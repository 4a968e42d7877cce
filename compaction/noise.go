package compaction

func cleanText(s string) string { return s }
func foldText(s string) string  { return s }
