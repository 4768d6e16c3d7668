"""Results as TAP, for Meson: `pytest-3 --tap`. A test is called what its documentation says."""

import sys


def title(item):
    """The sentence that documents a test, and its parameters."""
    words = " ".join((item.function.__doc__ or item.originalname).split("\n\n")[0].split())
    callspec = getattr(item, "callspec", None)
    return f"{words} [{callspec.id}]" if callspec else words


class Reporter:
    """Instead of pytest's own."""

    def __init__(self):
        self.titles = {}
        self.reports = []  # of the test that runs: its setup, itself, its teardown
        self.count = 0

    def say(self, line):
        print(line, flush=True)

    def explain(self, text):
        for line in text.splitlines():
            self.say(f"# {line}")

    def pytest_collectreport(self, report):
        if report.failed:
            self.explain(report.longreprtext)
            self.say(f"Bail out! cannot read {report.nodeid}")

    def pytest_collection_finish(self, session):
        self.titles = {item.nodeid: title(item) for item in session.items}
        self.say(f"1..{len(session.items)}")

    def pytest_runtest_logreport(self, report):
        self.reports.append(report)

    def pytest_runtest_logfinish(self, nodeid):
        reports, self.reports = self.reports, []
        self.count += 1
        name = f"{self.count} - {self.titles[nodeid].replace('#', '')}"
        failed = [report for report in reports if report.failed]
        skipped = [report for report in reports if report.skipped]
        for report in failed:
            self.say(f"# {nodeid}, {report.when}")
            self.explain(report.longreprtext)
        if failed:
            self.say(f"not ok {name}")
        elif any(hasattr(report, "wasxfail") for report in skipped):
            self.say(f"not ok {name} # TODO {skipped[0].wasxfail}")
        elif skipped:
            self.say(f"ok {name} # SKIP {skipped[0].longrepr[2].removeprefix('Skipped: ')}")
        else:
            self.say(f"ok {name}")
        for heading, text in (reports[-1].sections if reports else []):
            if failed or heading.startswith("Captured stdout"):
                self.explain(f"{heading}:\n{text}" if failed else text.rstrip())
        sys.stdout.flush()
