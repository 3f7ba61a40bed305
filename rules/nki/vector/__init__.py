"""Instructions of the Vector Engine with shapes of their own."""
