"""The one error that users are meant to see."""


class InputError(ValueError):
    """Something given to letorlab cannot be used.

    The message says what was given, what is needed, and what to do; scripts print it without a traceback.
    """
