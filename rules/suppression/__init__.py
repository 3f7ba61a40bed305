"""Rules about comments that suppress findings."""
