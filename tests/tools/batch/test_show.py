"""The report in a browser: a second leads to a viewer of that take; nothing else is to be had."""

import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from config.settings import Settings, ViewerSettings
from tests.tools.commands.walked import Walked, ended
from tools.batch.report import DONE, FAILED, TaskRow, write_batch_reports
from tools.batch.show import is_report, serve_report

pytestmark = pytest.mark.slow
ANSWER_S = 60.0


def status(url: str, **headers: str) -> int:
    """Return how a request was answered, redirections followed."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=ANSWER_S) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_second_opens_the_viewer_of_its_take(walked: Walked, tmp_path: Path) -> None:
    take = tmp_path / "out" / "walk & more" / "walk.mcap"
    take.parent.mkdir(parents=True)
    assert ended(walked.replay_words("--no-publish", "--out", take)).status == 0
    assert not is_report(tmp_path / "out")
    worst = [{"at_s": 1.0, "tracked": 1.0, "marker_residual_mm": 3.0}]
    rows = [
        TaskRow("walk & more", "replay", DONE, worst=worst, recording="walk & more/walk.mcap"),
        TaskRow("gone", "replay", FAILED, "no such <file>"),
    ]
    write_batch_reports(tmp_path / "out", rows)
    assert is_report(tmp_path / "out")
    (tmp_path / "secret").write_text("mine")
    with serve_report(tmp_path / "out", replace(Settings(), viewer=replace(ViewerSettings(), port=0))) as url:
        with urllib.request.urlopen(url, timeout=ANSWER_S) as answer:
            page = answer.read().decode()
        link = page.partition('class="see" href="')[2].partition('"')[0].replace("&amp;", "&")
        assert "no such &lt;file&gt;" in page and link == "view?task=walk+%26+more&at=1"
        assert status(f"{url}/{link}") == 200
        assert status(f"{url}/view?task=gone") == 404 and status(f"{url}/%2e%2e/secret") == 404
        assert status(url, Host="other.example") == 403 and status(url, Origin="http://other.example") == 403


def test_other_machines_see_a_report_by_its_token(tmp_path: Path) -> None:
    write_batch_reports(tmp_path, [TaskRow("gone", "replay", FAILED, "no such file")])
    with serve_report(tmp_path, replace(Settings(), viewer=replace(ViewerSettings(), port=0, host="0.0.0.0"))) as url:
        open_to_all, _, token = url.partition("?token=")
        assert token and status(open_to_all) == 403 and status(f"{open_to_all}report.html") == 403
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(url, timeout=ANSWER_S) as answer:
            assert answer.url.endswith("/report.html") and b"no such file" in answer.read()
        with opener.open(f"{open_to_all}report.json", timeout=ANSWER_S) as answer:
            assert answer.status == 200
