"""How instructions reach their operands: partitions, access patterns, memories."""
