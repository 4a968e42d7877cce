package sandbox

func runHelper(string, []string) int { return 1 }
