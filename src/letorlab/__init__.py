"""letorlab: the reproducible laboratory for learning to rank.

Importing the package loads nothing else: the workflow reads it at every start, so each module imports
what it needs, and the heavy libraries are imported where they are used.
"""

__version__ = "0.1.0"
