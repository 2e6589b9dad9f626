"""Mass properties: one value type for numbers, batches and symbols, and what is built from it."""

from .aggregator import MassAggregator
from .body import set_body_mass_properties
from .properties import MassProperties, aggregate, aggregate_mass_properties, transform_mass_properties

__all__ = [
    "MassAggregator",
    "MassProperties",
    "aggregate",
    "aggregate_mass_properties",
    "set_body_mass_properties",
    "transform_mass_properties",
]
