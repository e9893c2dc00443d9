"""What holds for all tests: the slow tier, hypothesis without deadlines, and a list of what this host cannot run."""

from collections import Counter

import pytest
from hypothesis import settings

from support import requirements

# Times on a shared machine say nothing; a failure found once is to be found again.
settings.register_profile("h5stz", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("h5stz-slow", settings.get_profile("h5stz"), max_examples=2000)
settings.load_profile("h5stz")


def pytest_addoption(parser):
    """Adds --slow and --require-all."""
    parser.addoption("--slow", action="store_true", help="run the tests marked slow too, and property tests for longer")
    parser.addoption(
        "--require-all",
        action="store_true",
        help="fail tests that would be skipped, but for what support/requirements.py lists as dispensable",
    )


def pytest_configure(config):
    """Has hypothesis look for longer with --slow."""
    if config.getoption("--slow"):
        settings.load_profile("h5stz-slow")


def pytest_collection_modifyitems(config, items):
    """Leaves tests marked slow out unless --slow or -m asks for them, those marked night unless -m does."""
    asked = config.getoption("-m")
    out = {"slow": not config.getoption("--slow") and "slow" not in asked, "night": "night" not in asked}
    left_out = [item for item in items if any(out[name] and item.get_closest_marker(name) for name in out)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        kept = set(items) - set(left_out)
        items[:] = [item for item in items if item in kept]


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
