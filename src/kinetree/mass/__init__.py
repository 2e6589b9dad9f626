"""Mass properties: one value type for numbers, batches and symbols, and what is built from it."""

from .aggregator import MassAggregator
from .body import set_body_mass_properties
from .budget import Budget, BudgetError, load_budget
from .properties import MassProperties, aggregate, aggregate_mass_properties, transform_mass_properties

__all__ = [
    "Budget",
    "BudgetError",
    "MassAggregator",
    "MassProperties",
    "aggregate",
    "aggregate_mass_properties",
    "load_budget",
    "set_body_mass_properties",
    "transform_mass_properties",
]
