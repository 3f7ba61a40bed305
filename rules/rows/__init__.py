"""Rows of the catalogue at their limits: for each a kernel that breaks it, and one that keeps it.

The rules that enforce them have these as twins besides their own; a test checks both kernels of
each, and runs them where they can be run. A row is one text in which ``{{bad||good}}`` stands for
what differs, see :mod:`rules.rows.frames`. Nobody needs them in order to judge a kernel.
"""
