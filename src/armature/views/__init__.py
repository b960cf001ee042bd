"""Pictures: computed once as data, and drawn as SVG or by Matplotlib."""

from armature.views.picture import Gain, Gauge, Picture, ShownArms, Target, Traffic, picture_of

__all__ = ["Gain", "Gauge", "Picture", "ShownArms", "Target", "Traffic", "picture_of"]
