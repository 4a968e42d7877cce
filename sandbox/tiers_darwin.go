package sandbox

// isolatingTiers returns the isolating tiers, strongest first.
func isolatingTiers() []tierStart { return []tierStart{{TierSeatbelt, startSeatbelt}} }
