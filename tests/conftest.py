"""What holds for all tests: tiers, order of files, hypothesis without deadlines, and a list of what this host cannot run."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

from support import requirements, smoke

# Times on a shared machine say nothing; a failure found once is to be found again.
settings.register_profile("h5stz", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("h5stz-slow", settings.get_profile("h5stz"), max_examples=2000)
settings.load_profile("h5stz")

#: Files that take longest, of both tiers: processes that share the tests begin with these, so that small ones are left for
#: the end. test_fuzz_targets.py uses what test_units.py compiles, test_install.py what test_machines.py does: they do not
#: begin side by side.
LONGEST = [
    "stream/test_machines.py",
    "codec/test_units.py",
    "exhaustive/test_night.py",
    "tools/test_wheels.py",
    "tools/test_benchmarks.py",
    "hdf5/test_filter_threads.py",
    "hdf5/test_damaged_structures.py",
    "stream/test_two_decoders.py",
    "stream/test_every_damage.py",
    "codec/test_faults.py",
    "codec/test_allocation_failures.py",
    "tools/test_install.py",
    "tools/test_fuzz_targets.py",
    "stream/test_wasm.py",
    "intercept/test_connector.py",
    "intercept/test_parallel_hdf5.py",
    "tools/test_packaging.py",
    "python/test_typing.py",
    "tools/test_document_blocks.py",
    "tools/test_docs_site.py",
    "tools/test_frozen.py",
    "codec/test_threads.py",
]


def pytest_addoption(parser):
    """Adds --smoke, --slow and --require-all."""
    parser.addoption("--smoke", action="store_true", help="run the smoke tier alone, the tests of support/smoke.py")
    parser.addoption("--slow", action="store_true", help="run the tests marked slow too, and property tests for longer")
    parser.addoption(
        "--require-all",
        action="store_true",
        help="fail tests that would be skipped, but for what support/requirements.py lists as dispensable",
    )


def pytest_configure(config):
    """Has --smoke name its tests, --slow lengthen the search of hypothesis, and pytest-xdist keep the order of `in_order`."""
    if config.getoption("--smoke"):
        config.args[:] = smoke.arguments()
    if config.getoption("--slow"):
        settings.load_profile("h5stz-slow")
    config.option.loadscopereorder = False


def in_order(items):
    """Tests for processes that share them by files: the LONGEST first, then those of the most tests."""
    tests = Counter(item.path for item in items)
    ranks = {Path(__file__).parent / name: rank for rank, name in enumerate(LONGEST)}
    return sorted(items, key=lambda item: (ranks.get(item.path, len(ranks)), -tests[item.path]))


def pytest_collection_modifyitems(config, items):
    """Leaves tests marked slow out unless --slow or -m asks for them, those marked night unless -m does."""
    asked = config.getoption("-m")
    out = {"slow": not config.getoption("--slow") and "slow" not in asked, "night": "night" not in asked}
    left_out = [item for item in items if any(out[name] and item.get_closest_marker(name) for name in out)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        kept = set(items) - set(left_out)
        items[:] = [item for item in items if item in kept]
    if hasattr(config, "workerinput"):
        items[:] = in_order(items)


def skip_reason(report):
    """Why a report's test was skipped."""
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


def fail_if_required(report):
    """Makes a failure of a skip that --require-all does not excuse."""
    if report.skipped and not hasattr(report, "wasxfail") and not requirements.is_excused(skip_reason(report)):
        report.longrepr = f"--require-all: {skip_reason(report)}"
        report.outcome = "failed"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """Applies --require-all to tests."""
    outcome = yield
    if item.config.getoption("--require-all"):
        fail_if_required(outcome.get_result())


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    """Applies --require-all to modules that are skipped as a whole."""
    outcome = yield
    if collector.config.getoption("--require-all"):
        fail_if_required(outcome.get_result())


def pytest_terminal_summary(terminalreporter):
    """Says why tests were skipped, and how many."""
    reasons = Counter(skip_reason(report).removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", []))
    if reasons:
        terminalreporter.section("not run on this host")
        for reason, count in sorted(reasons.items()):
            terminalreporter.write_line(f"{count} {'test' if count == 1 else 'tests'}: {reason}")


@pytest.fixture
def every_chunk_fitted(monkeypatch):
    """The filter learns nothing, so that its chunks are those of compress(), also in programs that a test starts."""
    monkeypatch.setenv("H5STZ_LEARN", "0")
