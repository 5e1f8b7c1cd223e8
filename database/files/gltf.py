from pathlib import Path
from database.files.source_motion import SourceMotion
def read_gltf(path: Path) -> SourceMotion:
    raise NotImplementedError
