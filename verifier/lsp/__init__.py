"""The editor server: what ``check`` says, while the text is being written.

The server's loop only moves messages. Analysis happens in a worker process (``worker``), which an
edit interrupts; what it found is kept with the text it was found in (``findings``) and follows the
edits made since (``text``).
"""
