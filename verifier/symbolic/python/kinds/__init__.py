"""How values of each kind behave; `KINDS` of each module goes into the language."""
