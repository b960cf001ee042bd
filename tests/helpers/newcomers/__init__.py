"""What someone might add to Armature, one file each, from outside of the package."""
