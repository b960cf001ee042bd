"""Experiments: problems in short TOML files, and the paper's."""

from armature.experiments.spec import load_instance, shipped_specs

__all__ = ["load_instance", "shipped_specs"]
