"""The frozen standards as data, and what reads them."""
