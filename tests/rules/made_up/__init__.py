"""A dialect that is made up: ``vec`` has tiles and two instructions."""
