"""Pictures: computed once as data, and drawn as SVG or by Matplotlib."""

from armature.views.picture import Arms, Gain, Gauge, Picture, Target, Traffic, picture_of

__all__ = ["Arms", "Gain", "Gauge", "Picture", "Target", "Traffic", "picture_of"]
