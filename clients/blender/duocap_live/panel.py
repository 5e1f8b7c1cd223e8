"""The panel in the sidebar."""

import bpy

from .live import current, start, stop


def _record_changed(settings: "LiveSettings", context: bpy.types.Context) -> None:
    """Pass the recording switch on."""
    live = current()
    if live is not None:
        live.record = settings.record


def _is_armature(settings: "LiveSettings", thing: bpy.types.Object) -> bool:
    """Offer armatures only."""
    return thing.type == "ARMATURE"


class LiveSettings(bpy.types.PropertyGroup):
    """What the user sets."""

    address: bpy.props.StringProperty(name="Stream", default="tcp://127.0.0.1:5570")
    armature: bpy.props.PointerProperty(
        name="Armature",
        type=bpy.types.Object,
        poll=_is_armature,
        description="In T-pose rest, bones named as in VRM; empty: one is made from the stream",
    )
    record: bpy.props.BoolProperty(name="Record keyframes", default=False, update=_record_changed)


class Connect(bpy.types.Operator):
    """Hear a running duocap"""

    bl_idname = "duocap.connect"
    bl_label = "Connect"

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Connect with what is set."""
        settings = context.scene.duocap_live
        start(settings.address, settings.armature).record = settings.record
        return {"FINISHED"}


class Disconnect(bpy.types.Operator):
    """Stop hearing it"""

    bl_idname = "duocap.disconnect"
    bl_label = "Disconnect"

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Disconnect."""
        stop()
        return {"FINISHED"}


class LivePanel(bpy.types.Panel):
    """The tab of the sidebar."""

    bl_idname = "VIEW3D_PT_duocap_live"
    bl_label = "duocap live"
    bl_space_type, bl_region_type, bl_category = "VIEW_3D", "UI", "duocap"

    def draw(self, context: bpy.types.Context) -> None:
        """Lay it out."""
        settings, live = context.scene.duocap_live, current()
        self.layout.prop(settings, "address")
        self.layout.prop(settings, "armature")
        self.layout.prop(settings, "record")
        self.layout.operator(Connect.bl_idname if live is None else Disconnect.bl_idname)
        if live is not None:
            self.layout.label(text=live.words)


CLASSES = (LiveSettings, Connect, Disconnect, LivePanel)
