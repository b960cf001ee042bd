"""What a bandit believes, as a picture: computed once, and drawn as SVG or by Matplotlib."""

from armature.views.picture import Arms, Gain, Gauge, Picture, Target, Traffic, picture_of

__all__ = ["Arms", "Gain", "Gauge", "Picture", "Target", "Traffic", "picture_of"]
