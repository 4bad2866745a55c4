"""The frozen standards as data, and what reads them."""

from nanolm.editions.custom import make as with_items
from nanolm.editions.datasheet import not_publishable_because
from nanolm.editions.edition import BenchmarkSpec, Category, Edition
from nanolm.editions.items import ItemSet, load_ids, load_items
from nanolm.editions.read import load, names

__all__ = [
    "BenchmarkSpec",
    "Category",
    "Edition",
    "ItemSet",
    "load",
    "load_ids",
    "load_items",
    "names",
    "not_publishable_because",
    "with_items",
]
