"""A sample of the generated attacks, the same every time: ``make adversary`` runs thousands of others."""

import re
import subprocess
import sys

import pytest

from tamis.testing.instances import ARGUMENTS
from tests.adversary.__main__ import ROUND
from tests.adversary.estimators import JUDGED
from tests.adversary.files import TURNS
from tests.adversary.new_rows import SUBJECTS as FITTED
from tests.adversary.signals import JOBS

EACH = {"arrays": 2, "estimators": 3, "rows": 2, "files": 4, "signals": 1}
SUBJECTS = {"arrays": ARGUMENTS, "estimators": JUDGED, "rows": FITTED, "files": TURNS, "signals": JOBS}


@pytest.mark.parametrize("kind", EACH)
def test_attacks_are_refused_in_a_line_or_answered_rightly_and_leave_nothing(kind):
    n_cases = -(-EACH[kind] * len(SUBJECTS[kind]) // ROUND.count(kind)) * len(ROUND)
    command = [sys.executable, "-m", "tests.adversary", "--jobs", "1", "--kind", kind, "--seed", "1"]
    # in a process that has started no thread before it forks
    found = subprocess.run([*command, "--cases", str(n_cases)], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    n_subjects, least = re.search(rf"^{kind} .* (\d+): (\d+)$", found.stdout, re.MULTILINE).groups()
    assert int(n_subjects) == len(set(SUBJECTS[kind]))
    assert int(least) >= EACH[kind]
