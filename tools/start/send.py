"""The step that says how the motion gets into other programs, and keeps who is sent VMC."""

from dataclasses import dataclass

import viser

from stream.start.drawings import draw_chain
from stream.start.form import FormButton, FormField, StepForm, Value
from tools.project_file import ProjectFile
from tools.start.step import StartStep, StepContext


@dataclass(frozen=True, slots=True)
class ReceivingProgram:
    """A program that gets the motion.

    Attributes:
        chain: from duocap to it, a name and a line each.
        steps: what to do there.
        vmc: its name for --vmc, empty where it hears the stream by itself.
    """

    chain: tuple[tuple[str, str], ...]
    steps: tuple[str, ...]
    vmc: str = ""


RUN, STREAM, VMC = ("duocap run", "or Record on this page"), ("stream", "tcp://127.0.0.1:5570"), ("VMC", "UDP, port 39539")
ANY_POSE = "Record or look first on this page, or duocap demo without cameras: the body follows."
RECEIVERS = {
    "Unity": ReceivingProgram(
        (RUN, STREAM, ("Unity", "DuocapAvatar on an Animator")),
        (
            "Install NetMQ 4.0.1 or newer with AsyncIO, such as by NuGetForUnity.",
            "Package Manager, Add package from disk: clients/unity/package.json.",
            "Put DuocapAvatar on the GameObject with the humanoid Animator and press Play.",
            ANY_POSE,
        ),
    ),
    "Unreal": ReceivingProgram(
        (RUN, VMC, ("Unreal", "plugin VMC4UE")),
        (
            "Tick VMC here and keep it.",
            "Add the VMC4UE node to the animation blueprint, with a bone mapping, and start its receiver at port 39539.",
            ANY_POSE,
        ),
        "vmc4ue",
    ),
    "Blender": ReceivingProgram(
        (RUN, STREAM, ("Blender", "tab duocap, Connect")),
        (
            "In clients/blender: python build.py duocap_live.zip, with a Python of Blender's version.",
            "Edit, Preferences, Get Extensions, Install from Disk: that file.",
            "In the 3D view press N, tab duocap, Connect: an armature is made, or your own is driven.",
            ANY_POSE,
        ),
    ),
    "VSeeFace": ReceivingProgram(
        (RUN, VMC, ("VSeeFace", "VMC receiver")),
        (
            "Tick VMC here and keep it.",
            "General settings: enable the VMC protocol receiver, port 39539; switch its Track options off.",
            ANY_POSE,
        ),
        "vseeface",
    ),
    "Warudo": ReceivingProgram(
        (RUN, VMC, ("Warudo", "asset VMC ReceivingProgram")),
        (
            "Tick VMC here and keep it.",
            "Add the asset VMC ReceivingProgram, port 39539, and choose it as the source of body tracking.",
            ANY_POSE,
        ),
        "warudo",
    ),
    "Godot": ReceivingProgram(
        (RUN, VMC, ("Godot", "Godot XR VMC Tracker")),
        ("Tick VMC here and keep it.", "Enable the plugin, port 39539, position mode Free.", ANY_POSE),
        "godot",
    ),
}


class SendStep(StartStep):
    """Where the motion goes."""

    title = "Send"

    def find_result(self, project: ProjectFile) -> str:
        """Return who is sent VMC."""
        return ", ".join(project.vmc)

    def describe(self, context: StepContext) -> StepForm:
        """Return the programs to choose from."""
        sent = ", ".join(context.project.vmc)
        return StepForm(
            "Send the motion to a program",
            "Choose the program: the drawing says what to do there. Every run publishes its stream; VMC goes where you keep it.",
            (
                FormField("program", "Program", next(iter(RECEIVERS)), tuple(RECEIVERS)),
                FormField("vmc", "Send VMC to it", False, hint="with every run of this project"),
            ),
            (FormButton("keep", "Keep", viser.Icon.CHECK, main=True),),
            done=f"VMC goes to {sent}" if sent else "",
        )

    def draw(self, context: StepContext, values: dict[str, Value]) -> str:
        """Return a drawing of the connection to the chosen program."""
        receiver = RECEIVERS[str(values.get("program") or next(iter(RECEIVERS)))]
        return draw_chain(receiver.chain, receiver.steps)

    def press(self, context: StepContext, button: str, values: dict[str, Value]) -> str:
        """Keep whether the program is sent VMC."""
        receiver, project = RECEIVERS[str(values["program"])], context.project
        others = tuple(name for name in project.vmc if name != receiver.vmc)
        if not receiver.vmc:
            return "this program hears the stream by itself; nothing needs to be kept"
        context.save(vmc=(*others, receiver.vmc) if values["vmc"] else others)
        return ""
