package sandbox

// rungs are the isolating tiers, strongest first.
func rungs() []rung { return nil }

func stage() string   { return "" }
func runStage(string) {}
