"""What is asked of the engine for a file, and what is reported of it: the same for everybody.

The command line and the editor say under which settings they want to know, and where the texts are;
what they get they only present.
"""
