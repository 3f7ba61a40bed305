"""Results on disk: found again as long as nothing that they depend on has changed."""
