"""How soon the body follows a drag, by the clock of the page itself.

    python -m benchmarks.stream.posing.latency [--models local,sparse,style] [--steps 120] [--draw] [--files FILE...] [--json F]

`duocap pose` serves the page; a headless Chromium of 1280x720 shows it, which draws by software; the right hand is dragged along
a circle. `arrival` and `drawn`: one move of the mouse at a time, from its event (`timeStamp`) to the first batch of messages with
the body's bones that the page's script gets, and to the end of the frame that draws it. `steady`: 60 moves a second; the hand's
place in every batch tells which point of the circle it answers, and so how old that is on arrival. No triangles are drawn, as
where a graphics card does it; with --draw a second time with them.
"""

import os
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import build_parser, compute_percentiles, run_main, write_json
from benchmarks.stream.posing.page import PosePage
from config.arrays import Floats
from config.joints import JOINT_INDEX
from config.settings import Settings
from stream.posing.document import check_point
from stream.posing.page.app import PageOptions, PosingApp
from stream.posing.page.inbox import DragPlace
from stream.posing.session import PosingSession
from stream.web.server import open_server
from tests.support.ports import free_port
from tools.pose import MODELS, PoseTask

HAND = "/world/handles/rightHand"
LISTEN = """
window.moves = []; window.arrivals = []; window.drawn = [];
addEventListener('pointermove', e => { if (e.buttons) window.moves.push([e.timeStamp, e.clientX, e.clientY]); }, true);
const Plain = window.Worker;
window.Worker = class extends Plain {
  constructor(...given) {
    super(...given);
    this.addEventListener('message', e => {
      const messages = e.data?.messages;
      if (!messages || !window.moves.length || !messages.some(m => m.type.startsWith('SetBone'))) return;
      const hand = messages.filter(m => m.type === 'SetPositionMessage' && m.name === 'HAND').pop();
      window.arrivals.push([performance.now(), hand ? [...hand.position] : null]);
      const number = window.arrivals.length - 1;
      requestAnimationFrame(() => setTimeout(() => { window.drawn[number] = performance.now(); }));
    });
  }
};
""".replace("HAND", HAND)
NOT_DRAWN = """
for (const name of ['drawElements', 'drawArrays', 'drawElementsInstanced', 'drawArraysInstanced', 'drawRangeElements'])
  WebGL2RenderingContext.prototype[name] = () => {};
"""
START_PX, CENTRE_PX, RADIUS_PX = (384.0, 344.0), (330.0, 240.0), 45.0
TURN_S, WARM_S = 3.0, 6.0
ANSWER_S = 3.0


@dataclass(frozen=True)
class DragLatency:
    """Of one model [ms]: p50 and p95 of single moves, to the page's script and until drawn, and of steady dragging; bodies_hz:
    bodies that arrive a second while dragging steadily; program_ms: processor time of the program itself for a move;
    draws: triangles are drawn, else all is done but that.
    """

    model: str
    draws: bool
    moves: int
    arrival_ms: tuple[float, ...]
    drawn_ms: tuple[float, ...]
    steady_ms: tuple[float, ...]
    bodies_hz: float
    program_ms: tuple[float, ...]


def compute_circle_point(angle: float) -> tuple[float, float]:
    """Return a point of the circle [px]."""
    return CENTRE_PX[0] + RADIUS_PX * float(np.cos(angle)), CENTRE_PX[1] + RADIUS_PX * float(np.sin(angle))


def measure_drag(model: str, files: list[str], steps: int, draws: bool) -> DragLatency:
    """Drag with one model.

    Args:
        model: the model.
        files: styles or dictionaries of the model.
        steps: number of moves.
        draws: whether the page draws.
    """
    arguments = ["--model", model, *(file for file in files if file.endswith(f".{model}"))]
    with PosePage(arguments, LISTEN + ("" if draws else NOT_DRAWN)) as page:
        browser = page.browser
        time.sleep(WARM_S)
        browser.mouse("mousePressed", *START_PX, 1)
        for share in np.linspace(0.0, 1.0, 12):
            x, y = compute_circle_point(0.0)
            browser.mouse("mouseMoved", START_PX[0] + share * (x - START_PX[0]), START_PX[1] + share * (y - START_PX[1]), 1)
            time.sleep(0.1)
        single = [each for n in range(steps) if (each := time_one_move(page, 2.0 * np.pi * n / 24)) is not None]
        steady, bodies_hz = drag_steadily(page, steps)
        browser.mouse("mouseReleased", *compute_circle_point(0.0), 0)
    arrival, drawn = np.array(single).T
    cost_ms = measure_program_ms(model, files, steps)
    to_script, to_frame, dragging = (compute_percentiles(values, 50, 95) for values in (arrival, drawn, steady))
    return DragLatency(model, draws, len(single), to_script, to_frame, dragging, bodies_hz, cost_ms)


def measure_program_ms(model: str, files: list[str], steps: int) -> tuple[float, ...]:
    """Return the processor time of the program for a move, from the drag to the messages, p50 and p95 [ms].

    Args:
        model: the model.
        files: styles or dictionaries of the model.
        steps: number of moves.
    """
    styles = tuple(Path(file) for file in files if file.endswith(".style"))
    dictionary = next((Path(file) for file in files if file.endswith(".sparse")), None)
    loaded = MODELS[model](PoseTask(Settings(), styles, dictionary=dictionary, model=model))
    session = PosingSession(loaded)
    app = PosingApp(open_server("127.0.0.1", free_port(), "benchmark"), session, PageOptions(Path(), {model: lambda: loaded}))
    begin_m, times_s = session.joints_m()[JOINT_INDEX["rightHand"]] + [0.0, 0.2, 0.1], []
    for n in range(steps + 20):
        angle = 2.0 * np.pi * n / 24
        place_m = begin_m + 0.12 * np.array([np.cos(angle), np.sin(angle), 0.3])
        app.drag(DragPlace("rightHand", check_point(place_m), False, 1))
        begin_s = time.process_time()
        app.update()
        times_s.append(time.process_time() - begin_s)
    app.close()
    return compute_percentiles(1e3 * np.array(times_s[20:]), 50, 95)


def time_one_move(page: PosePage, angle: float) -> tuple[float, float] | None:
    """Move once and wait for the body; return the time to the page and until drawn [ms], or None where nothing moved."""
    browser = page.browser
    browser.evaluate("window.moves = []; window.arrivals = []; window.drawn = []; 0")
    browser.mouse("mouseMoved", *compute_circle_point(angle), 1)
    deadline = time.monotonic() + ANSWER_S
    while time.monotonic() < deadline:
        time.sleep(0.1)
        moves, arrivals, drawn = read_page_log(page)
        if moves and arrivals and drawn and drawn[0]:
            return arrivals[0][0] - moves[0][0], drawn[0] - moves[0][0]
    return None


def drag_steadily(page: PosePage, steps: int) -> tuple[Floats, float]:
    """Drag along the circle at 60 moves a second; return how old each body is on arrival [ms], and bodies a second."""
    browser = page.browser
    browser.mouse("mouseMoved", *compute_circle_point(0.0), 1)
    time.sleep(1.0)
    browser.evaluate("window.moves = []; window.arrivals = []; window.drawn = []; 0")
    begin_s = time.monotonic()
    for n in range(4 * steps):
        browser.mouse("mouseMoved", *compute_circle_point(2.0 * np.pi * (time.monotonic() - begin_s) / TURN_S), 1)
        time.sleep(max(begin_s + (n + 1) / 60 - time.monotonic(), 0.0))
    time.sleep(1.0)
    moves, arrivals, _ = read_page_log(page)
    sent = np.array(moves)
    turned = np.unwrap(np.arctan2(sent[:, 2] - CENTRE_PX[1], sent[:, 1] - CENTRE_PX[0]))
    answered = [(at, find_angle(page, hand)) for at, hand in arrivals if hand is not None]
    at_ms, angle = np.array([each[0] for each in answered]), np.unwrap([each[1] for each in answered])
    angle += 2.0 * np.pi * np.round((turned[0] - angle[0]) / (2.0 * np.pi))
    inside = (angle > turned[0] + 0.2) & (angle < turned[-1] - 0.2)
    ages = at_ms - np.interp(angle, turned, sent[:, 0])
    return ages[inside], 1e3 * (len(at_ms) - 1) / float(at_ms[-1] - at_ms[0])


def read_page_log(page: PosePage) -> tuple[list[Any], list[Any], list[Any]]:
    """Return what the page noted: moves, arrivals and times of frames."""
    moves, arrivals, drawn = page.browser.evaluate("[window.moves, window.arrivals, window.drawn]")
    return moves, arrivals, drawn


def find_angle(page: PosePage, hand_m: list[float]) -> float:
    """Return at which angle about the circle's centre the page draws a place [rad]."""
    x, y = page.find_point(np.array(hand_m))
    return float(np.arctan2(y - CENTRE_PX[1], x - CENTRE_PX[0]))


def main() -> None:
    """Measure and print."""
    parser = build_parser(__doc__)
    parser.add_argument("--models", default="local,sparse,style")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--draw", action="store_true", help="measure with triangles drawn by software, too")
    parser.add_argument("--files", nargs="*", default=[], help="styles and a dictionary instead of the built-in motions")
    options = parser.parse_args()
    rows = []
    for model, draws in product(options.models.split(","), (False, True) if options.draw else (False,)):
        row = measure_drag(model, options.files, options.steps, draws)
        rows.append(row)
        parts = {"arrival": row.arrival_ms, "drawn": row.drawn_ms, "steady": row.steady_ms, "program": row.program_ms}
        words = "  ".join(f"{name} {p50:.0f} / {p95:.0f}" for name, (p50, p95) in parts.items())
        how = "with" if draws else "without"
        print(f"{model:6} {how:7} drawing  ms p50 / p95: {words}  {row.bodies_hz:.0f} bodies/s, {row.moves} moves", flush=True)
        print(f"{'':6} load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    write_json(options.json, rows)


if __name__ == "__main__":
    run_main(main)
