"""duocap live: the streamed pose on an armature, in the sidebar of the 3D view (tab "duocap")."""

import bpy

from .panel import CLASSES, LiveSettings


def register() -> None:
    """Add the panel."""
    for kind in CLASSES:
        bpy.utils.register_class(kind)
    bpy.types.Scene.duocap_live = bpy.props.PointerProperty(type=LiveSettings)


def unregister() -> None:
    """Take it away, ending what runs."""
    from .live import stop

    stop()
    del bpy.types.Scene.duocap_live
    for kind in reversed(CLASSES):
        bpy.utils.unregister_class(kind)
