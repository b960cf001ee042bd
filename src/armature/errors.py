"""The one exception that Armature raises for bad input."""


class ArmatureError(ValueError):
    """Something given to Armature is wrong; the message says what, and what would be right."""
