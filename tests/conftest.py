"""What holds for all tests: the slow tier, hypothesis without deadlines, and a list of what this host cannot run."""

from hypothesis import settings

from support import host_tools

# Times on a shared machine say nothing; a failure found once is to be found again.
settings.register_profile("h5stz", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("h5stz-slow", settings.get_profile("h5stz"), max_examples=2000)
settings.load_profile("h5stz")


def pytest_addoption(parser):
    """Adds --slow."""
    parser.addoption("--slow", action="store_true", help="run the tests marked slow too, and property tests for longer")


def pytest_configure(config):
    """Has hypothesis look for longer with --slow."""
    if config.getoption("--slow"):
        settings.load_profile("h5stz-slow")


def pytest_collection_modifyitems(config, items):
    """Leaves tests marked slow out unless --slow or -m asks for them."""
    if config.getoption("--slow") or "slow" in config.getoption("-m"):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


def pytest_terminal_summary(terminalreporter):
    """Says which tests were not collected because this host lacks something."""
    if host_tools.missing:
        terminalreporter.section("not run on this host")
        for reason in host_tools.missing:
            terminalreporter.write_line(reason)
