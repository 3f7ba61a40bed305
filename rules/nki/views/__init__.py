"""Subscripts, access patterns and reshapes: what a view may name.

The view algebra raises these rules where the view is made, those of Beta 1 index arrays where an
operation uses it, because its mask belongs to the operation. What a run-time offset leaves of a
view's bounds is checked where it is used as well: that says whether rows outside are skipped.
"""
