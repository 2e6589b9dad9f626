"""Hypothesis for the tests of mass properties: the same examples in every run, without a clock."""

from hypothesis import settings

settings.register_profile("mass", deadline=None, derandomize=True)
settings.load_profile("mass")
