"""A plain OpenSim model, in the Python of OpenSim: the joints of Rajagopal et al. 2016 without muscles, knees as hinges.

    python opensim_model.py pose BODY.json WALK.mot OUT.json    where its bodies are, frame by frame [m]
    python opensim_model.py solve BODY.json WALK.trc OUT.json   inverse kinematics of markers [degrees]

BODY.json: offsets of each body's joint in its parent's frame, and for `solve` markers: name -> body, place in it [m], and
coordinates that are locked.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import opensim

ANKLE, SUBTALAR, TOES = (
    (-0.10501355, -0.17402245, 0.97912632),
    (0.7871796, 0.60474746, -0.12094949),
    (-0.5809544, 0.0, 0.81393611),
)
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def joints() -> Iterator[tuple[str, str, list[tuple[str, tuple[float, ...]]]]]:
    """Yield body, parent, and the coordinates with their axes; those of the left are the mirror image."""
    yield "pelvis", "ground", [("pelvis_tilt", Z), ("pelvis_list", X), ("pelvis_rotation", Y)]
    yield "torso", "pelvis", [("lumbar_extension", Z), ("lumbar_bending", X), ("lumbar_rotation", Y)]
    for side in "rl":
        rows = [
            ("femur", "pelvis", [("hip_flexion", Z), ("hip_adduction", X), ("hip_rotation", Y)]),
            ("tibia", "femur", [("knee_angle", (0.0, 0.0, -1.0))]),
            ("foot", "tibia", [("ankle_angle", ANKLE), ("subtalar_angle", SUBTALAR)]),
            ("toes", "foot", [("mtp_angle", TOES)]),
            ("humerus", "torso", [("arm_flex", Z), ("arm_add", X), ("arm_rot", Y)]),
            ("ulna", "humerus", [("elbow_flex", Z), ("pro_sup", Y)]),
            ("hand", "ulna", [("wrist_flex", Z), ("wrist_dev", X)]),
        ]
        for body, parent, axes in rows:
            mirror = 1.0 if side == "r" else -1.0
            turned = [(f"{name}_{side}", (mirror * x, mirror * y, z)) for name, (x, y, z) in axes]
            yield f"{body}_{side}", parent if parent in ("pelvis", "torso") else f"{parent}_{side}", turned


def build(description: dict[str, Any]) -> Any:
    """Build the model."""
    model = opensim.Model()
    model.setName("plain")
    for name, parent, axes in joints():
        body = opensim.Body(name, 1.0, opensim.Vec3(0), opensim.Inertia(0.1))
        model.addBody(body)
        base = model.getGround() if parent == "ground" else model.getBodySet().get(parent)
        transform = opensim.SpatialTransform()
        # The axes of a transform must be independent; unused ones stay at zero.
        used = [axis for _, axis in axes]
        for k in range(3):
            turn = transform.updTransformAxis(k)
            if k < len(axes):
                turn.setCoordinateNames(opensim.ArrayStr(axes[k][0], 1))
                turn.setAxis(opensim.Vec3(*axes[k][1]))
                turn.set_function(opensim.LinearFunction(1.0, 0.0))
            else:
                spare = next(a for a in (X, Y, Z) if all(abs(sum(p * q for p, q in zip(a, b, strict=True))) < 0.9 for b in used))
                used.append(spare)
                turn.setAxis(opensim.Vec3(*spare))
                turn.set_function(opensim.Constant(0.0))
        if parent == "ground":
            for k, coordinate in enumerate(("pelvis_tx", "pelvis_ty", "pelvis_tz")):
                move = transform.updTransformAxis(3 + k)
                move.setCoordinateNames(opensim.ArrayStr(coordinate, 1))
                move.setAxis(opensim.Vec3(*(X, Y, Z)[k]))
                move.set_function(opensim.LinearFunction(1.0, 0.0))
        at = opensim.Vec3(*description["offsets"].get(name, (0.0, 0.0, 0.0)))
        zero = opensim.Vec3(0)
        model.addJoint(opensim.CustomJoint(f"to_{name}", base, at, zero, body, zero, zero, transform))
    for name, (body, place) in description.get("markers", {}).items():
        model.addMarker(opensim.Marker(name, model.getBodySet().get(body), opensim.Vec3(*place)))
    for name in description.get("locked", ()):
        model.updCoordinateSet().get(name).setDefaultLocked(True)
    model.finalizeConnections()
    return model


def pose(model: Any, mot: str) -> dict[str, list[list[float]]]:
    """Return where the origins of the bodies are in each row of a MOT file."""
    state = model.initSystem()
    table = opensim.TimeSeriesTable(mot)
    labels = table.getColumnLabels()
    known = {model.getCoordinateSet().get(k).getName() for k in range(model.getCoordinateSet().getSize())}
    assert known == set(labels), sorted(known ^ set(labels))
    out: dict[str, list[list[float]]] = {name: [] for name, _, _ in joints()}
    for n in range(table.getNumRows()):
        row = table.getRowAtIndex(n)
        for k, label in enumerate(labels):
            coordinate = model.getCoordinateSet().get(label)
            value = (
                row[k]
                if label.startswith("pelvis_t") and label[-2:] in ("tx", "ty", "tz")
                else row[k] * 3.141592653589793 / 180.0
            )
            coordinate.setValue(state, value, False)
        model.realizePosition(state)
        for name in out:
            place = model.getBodySet().get(name).getPositionInGround(state)
            out[name].append([place.get(k) for k in range(3)])
    return out


def solve(model: Any, trc: str, out: str) -> dict[str, list[float]]:
    """Return the coordinates that OpenSim's inverse kinematics finds for markers."""
    model.printToXML(f"{out}.osim")
    again, tool = opensim.Model(f"{out}.osim"), opensim.InverseKinematicsTool()
    tool.setModel(again)
    tool.setMarkerDataFileName(trc)
    times = opensim.TimeSeriesTableVec3(trc).getIndependentColumn()
    tool.setStartTime(times[0])
    tool.setEndTime(times[len(times) - 1])
    tool.setOutputMotionFileName(f"{out}.mot")
    tool.set_report_errors(False)
    tool.run()
    table = opensim.TimeSeriesTable(f"{out}.mot")
    columns = {name: [table.getDependentColumn(name)[n] for n in range(table.getNumRows())] for name in table.getColumnLabels()}
    return {"time": list(table.getIndependentColumn()), **columns}


if __name__ == "__main__":
    job, body_file, data, out_file = sys.argv[1:]
    opensim.Logger.setLevelString("error")
    os.chdir(Path(out_file).parent)  # where OpenSim leaves its log
    made = build(json.loads(Path(body_file).read_text("utf-8")))
    found = pose(made, data) if job == "pose" else solve(made, data, out_file)
    Path(out_file).write_text(json.dumps(found), "utf-8")
