"""The mutants of `make mutants` and the defects of `make planted` fit the code as it is now, or would prove nothing."""

from __future__ import annotations

import pytest

from tests.mutants.run_mutants import ROOT, Mutant, listed


@pytest.mark.parametrize("mutant", [*listed(), *listed("planted.toml")], ids=lambda mutant: mutant.name)
def test_a_mutant_changes_one_place_and_its_tests_are_there(mutant: Mutant) -> None:
    assert (ROOT / mutant.file).read_text(encoding="utf-8").count(mutant.before) == 1
    assert mutant.before != mutant.after
    assert [test for test in mutant.tests if not (ROOT / test.partition("::")[0]).exists()] == []
