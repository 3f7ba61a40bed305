"""What would be faster or more precise: nothing that it speaks of is wrong.

Advice is given where somebody selects it, and where it is good for every input; it is a note, which
no status and no precondition depends on. Each names the cost as the documentation has it.
"""
