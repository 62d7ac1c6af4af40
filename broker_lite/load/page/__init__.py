"""The HTML report of one run, or of two side by side: one file that asks for nothing else.

A result comes in as plain data, perhaps from a file of unknown origin; a text goes out. Its size is
bounded, however long the run was. There is no script in it: plots are SVG, and what the pointer is
at is shown by CSS. Every text of the data is escaped, and every number is read as one.
"""
