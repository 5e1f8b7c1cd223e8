"""A performer's skeleton and marker offsets, from T-poses and movement; subject.toml."""
