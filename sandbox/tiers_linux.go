package sandbox

// isolatingTiers returns the isolating tiers, strongest first.
func isolatingTiers() []tierStart {
	return []tierStart{
		{TierNamespaces, startNamespaces},
		{TierHostNet, startHostNet},
		{TierBubblewrap, startBubblewrap},
		{TierLandlock, startLandlock},
	}
}
