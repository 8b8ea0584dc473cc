"""The README says what there is."""

from __future__ import annotations

import pytest

from fixtures.brokers import PRODUCTS
from fixtures.brokers.product import PROVIDER_OPTIONS
from fixtures.session.options import OPTIONS
from tests.conftest import ROOT
from tests.support.experiments import EXPERIMENTS

README = (ROOT / "README.md").read_text(encoding="utf-8")

OF_BROKERS = [(product.name, name, option) for product in PRODUCTS for name, option in product.options.items()]
OF_PROVIDERS = [("all of these", name, option) for name, option in PROVIDER_OPTIONS.items()]


@pytest.mark.parametrize(("owner", "name", "option"), OF_BROKERS + OF_PROVIDERS, ids=lambda one: str(one)[:20])
def test_options_of_brokers(owner, name, option):
    """Each option of a broker or a provider stands in the table, with its default and its meaning."""
    shown = f"`{option.default}`" if option.default else "none"
    rows = [line for line in README.splitlines() if line.startswith("|") and f"`{name}`" in line]

    assert any(f"| {shown} | {option.meaning.split(',')[0]}" in row for row in rows), (owner, name)


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_the_session(name):
    """Each option of a measurement is explained."""
    assert f"`--{name}" in README


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments(name):
    """Each experiment stands with its question."""
    assert f"`{name}`" in README


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.name)
def test_brokers(product):
    """Each broker stands with the providers that can run it, its own first."""
    (row,) = [line for line in README.splitlines() if line.startswith(f"| `{product.name}`") and "default)" in line]
    _, _, providers, _, _ = row.split("|")

    assert f"`{product.providers[0]}` (default)" in providers
    assert all(f"`{provider}`" in providers for provider in product.providers)
